# A backend that reads many files stays within max_files_per_process.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $files = $ENV{AX_TESTDATA};
my $lake = PostgreSQL::Test::Utils::tempdir;
for my $i (1 .. 300)
{
	link("$files/customers.parquet", "$lake/c$i.parquet")
	  or system('cp', "$files/customers.parquet", "$lake/c$i.parquet") == 0
	  or die "cannot copy: $!";
}
chmod 0755, $lake;

my $node = PostgreSQL::Test::Cluster->new('descriptors');
$node->init;
$node->append_conf('postgresql.conf', "max_files_per_process = 100\n");
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION analytics_fdw;
	CREATE FOREIGN TABLE many (id int4) SERVER analytics_fdw OPTIONS (path '$lake/*.parquet');
	CREATE FOREIGN TABLE one (id int4) SERVER analytics_fdw
		OPTIONS (path '$files/customers.parquet');
	SELECT count(*) FROM many;
	DO \$\$ BEGIN FOR i IN 1 .. 150 LOOP
		EXECUTE format('CREATE TABLE h%s AS SELECT %s AS a', i, i);
	END LOOP; END \$\$;
});
my $answer = $node->safe_psql('postgres', q{
	SELECT count(id) > 0 FROM many;
	DO $$ BEGIN FOR i IN 1 .. 150 LOOP
		EXECUTE format('INSERT INTO h%s VALUES (1)', i);
	END LOOP; END $$;
	SELECT (SELECT sum(id) FROM many) = 300 * (SELECT sum(id) FROM one);
	SELECT count(*) < 100 FROM pg_ls_dir('/proc/' || pg_backend_pid() || '/fd');
});
is($answer, "t\nt\nt", 'files of the lake and tables of the server share the descriptors');

done_testing();

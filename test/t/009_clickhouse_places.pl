# Where ClickHouse's tables lie: a server's directory, a backup with and without a base, in an
# archive, disks whose files have other names; and what an import makes of them.
use strict;
use warnings;
use File::Find;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $files = $ENV{AX_TESTDATA};
my $root = PostgreSQL::Test::Utils::tempdir;
chmod 0755, $root;

sub run { system(@_) == 0 or die "@_"; return; }

sub put
{
	my ($path, $text) = @_;
	run('mkdir', '-p', $path =~ s{/[^/]*$}{}r);
	open(my $f, '>', $path) or die "$path: $!";
	print $f $text;
	close $f;
	return;
}

# All files below a directory, by their names in it.
sub below
{
	my ($dir) = @_;
	my %found;
	find({ no_chdir => 1, wanted => sub { $found{ s{^\Q$dir\E/}{}r } = $_ if -f; } }, $dir);
	return %found;
}

my $node = PostgreSQL::Test::Cluster->new('places');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION analytics_fdw');
my $plain = ask("path '$files/visits', definition '$files/visits.sql'");
like($plain, qr/^\d{4,}\|/, 'the table where it is');

sub ask
{
	my ($options) = @_;
	my ($ret, $out, $err) = $node->psql('postgres', qq{
		CREATE FOREIGN TABLE t () SERVER analytics_fdw OPTIONS ($options, format 'mergetree');
		SELECT count(*), sum(id), count(DISTINCT kind), min(t::text) FROM t;
		DROP FOREIGN TABLE t;});
	return $ret == 0 ? $out : $err;
}

# ---- a server ------------------------------------------------------------------------------------

my $uuid = '5732037e-e97e-4e1a-ab86-6706dd56efe4';
my $sql = slurp_file("$files/visits.sql");
my $server = "$root/server";
put("$server/metadata/shop.sql", "ATTACH DATABASE _ UUID '11111111-97e0-4e1a-ab86-6706dd56efe4'\nENGINE = Atomic\n");
put("$server/store/111/11111111-97e0-4e1a-ab86-6706dd56efe4/vis%2Eits.sql",
	($sql =~ s/^(ATTACH|CREATE) TABLE \S+( UUID '[^']*')?/ATTACH TABLE _ UUID '$uuid'/r) .
	"\nCOMMENT 'who\\'s there'");
run('mkdir', '-p', "$server/store/573");
run('cp', '-R', "$files/visits", "$server/store/573/$uuid");
put("$server/metadata/old.sql", "ATTACH DATABASE old\nENGINE = Ordinary\n");
put("$server/metadata/old/visits.sql", $sql =~ s/ UUID '[^']*'//r);
put("$server/metadata/old/view.sql", "ATTACH VIEW view (`id` UInt32) AS SELECT 1");
put("$server/metadata/old/log.sql", "ATTACH TABLE log (`id` UInt32) ENGINE = TinyLog");
run('mkdir', '-p', "$server/data/old");
run('cp', '-R', "$files/visits", "$server/data/old/visits");
put("$server/metadata/system.sql", "ATTACH DATABASE system\nENGINE = Ordinary\n");
put("$server/metadata/system/visits.sql", $sql);

is(ask("path '$server', table_name 'shop.vis.its'"), $plain, 'a table with a UUID');
is(ask("path '$server', table_name 'old.visits'"), $plain, 'a table of an old database');
like(ask("path '$server'"), qr/there are several tables/, 'which table is not guessed');
like(ask("path '$server', table_name 'shop.no'"), qr/there is no table "shop.no"/, 'no such table');

$node->safe_psql('postgres', qq{
	CREATE SCHEMA shop; CREATE SCHEMA old;
	IMPORT FOREIGN SCHEMA shop FROM SERVER analytics_fdw INTO shop
		OPTIONS (path '$server', format 'mergetree', comments 'true');
	IMPORT FOREIGN SCHEMA old FROM SERVER analytics_fdw INTO old
		OPTIONS (path '$server', format 'mergetree');});
is($node->safe_psql('postgres', q{
	SELECT string_agg(n.nspname || '/' || c.relname, ' ' ORDER BY n.nspname) FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE relkind = 'f'}),
	'old/visits shop/vis.its', 'tables are imported, views and other engines are not');
is($node->safe_psql('postgres', q{SELECT obj_description('shop."vis.its"'::regclass)}),
	"who's there", 'a comment of ClickHouse');
is($node->safe_psql('postgres', 'SELECT count(*) FROM shop."vis.its"'), $plain =~ s/\|.*//sr, 'read');
like($node->safe_psql('postgres', q{EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT count(*) FROM shop."vis.its" WHERE day = '2024-01-05'}), qr/primary key/,
	'the definition that was found tells the key');
my ($ret, $out, $err) = $node->psql('postgres', qq{
	IMPORT FOREIGN SCHEMA mall FROM SERVER analytics_fdw INTO shop
		OPTIONS (path '$server', format 'mergetree')});
like($err, qr/there is no database "mall"/, 'no such database');

# ---- backups -------------------------------------------------------------------------------------

# Files are stored once, under the name of the first one; what the base has is left to it.
sub backup
{
	my ($to, $base, %files) = @_;
	my (%stored, $list);
	for my $name (sort keys %files)
	{
		my $bytes = slurp_file($files{$name});
		my $sum = Digest::MD5::md5_hex($bytes);
		$list .= "<file><name>$name</name><size>" . length($bytes) . '</size>';
		$list .= "<checksum>$sum</checksum>" if length $bytes;
		if ($base && $base->{$sum}) { $list .= '<use_base>true</use_base>'; }
		elsif ($stored{$sum}) { $list .= "<data_file>$stored{$sum}</data_file>"; }
		elsif (length $bytes)
		{
			$stored{$sum} = $name;
			put("$to/$name", $bytes);
		}
		$list .= '</file>';
	}
	put("$to/.backup", '<config><version>1</version><deduplicate_files>1</deduplicate_files>' .
		($base ? "<base_backup>File('/elsewhere/monday')</base_backup>" : '') .
		"<contents>$list</contents></config>");
	return \%stored;
}

use Digest::MD5;
my %tree = map { ("data/shop/visits/$_->[0]" => $_->[1]) } do {
	my %f = below("$files/visits");
	map { [ $_, $f{$_} ] } grep { m{/} } keys %f;
};
$tree{'metadata/shop/visits.sql'} = "$files/visits.sql";
my %half = map { ($_ => $tree{$_}) } grep { /all_1|metadata/ } keys %tree;
my $stored = backup("$root/backups/monday", undef, %half);
backup("$root/backups/tuesday", $stored, %tree);
is(ask("path '$root/backups/tuesday'"), $plain, 'a backup and its base');
like($node->safe_psql('postgres', qq{
	CREATE FOREIGN TABLE b () SERVER analytics_fdw OPTIONS (path '$root/backups/tuesday', format 'mergetree');
	EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM b WHERE day = '2024-01-05'}),
	qr/primary key/, 'its definition tells the key');
run('tar', '-cf', "$root/backups/tuesday.tar", '-C', "$root/backups/tuesday", '.');
is(ask("path '$root/backups/tuesday.tar'"), $plain, 'in an archive');
run('mkdir', "$root/archive");
run('tar', '-cf', "$root/archive/m.tar", '-C', "$root/backups/monday", '.backup', 'data', 'metadata');
rename("$root/backups/monday", "$root/gone") or die;
like(ask("path '$root/backups/tuesday'"), qr{could not open file.*backups/monday}s, 'without its base');
is(ask("path '$root/backups/tuesday', base_backup '$root/archive/m.tar'"), $plain, 'a base elsewhere');
rename("$root/backups/tuesday.tar", "$root/backups/tuesday.zip") or die;
like(ask("path '$root/backups/tuesday.zip'"), qr/archives of kind .zip cannot be read|no such directory/, 'a zip');

# ---- disks ---------------------------------------------------------------------------------------

my %table = below("$files/visits");
my $n = 0;
for my $name (sort keys %table)
{
	my $size = -s $table{$name};
	my $key = sprintf('abc/%029d', ++$n);
	run('mkdir', '-p', "$root/bucket/data/abc");
	run('cp', $table{$name}, "$root/bucket/data/$key");
	put("$root/disk/store/573/$uuid/$name", "5\n1\t$size\n$size\tdata/$key\n0\n0\n\n");
}
is(ask("path '$root/disk', objects '$root/bucket/data', definition '$files/visits.sql'"), $plain,
	'metadata of a disk, and its objects');
like(ask("path '$root/disk', objects '$root/bucket/none'"), qr/could not open file/, 'no objects there');

my %token;
for my $name (sort keys %table)
{
	my ($dir, $file) = "store/573/$uuid/$name" =~ m{^(.*/)([^/]*)$};
	$token{$dir} //= sprintf('%032d', 1 + keys %token);
	put("$root/rewritable/__meta/$token{$dir}/prefix.path", $dir);
	run('mkdir', '-p', "$root/rewritable/$token{$dir}");
	run('cp', $table{$name}, "$root/rewritable/$token{$dir}/$file");
}
is(ask("path '$root/rewritable', definition '$files/visits.sql'"), $plain, 'directories with other names');
is(ask("path '$root/rewritable', table_name '$uuid', definition '$files/visits.sql'"), $plain, 'by its UUID');

done_testing();

# Files that appear, change and disappear between statements; temporary tables; definitions that
# survive pg_dump on a server without the files; a file that is opened only by who wants it.
use strict;
use warnings;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $files = $ENV{AX_TESTDATA};
my $lake = PostgreSQL::Test::Utils::tempdir;
chmod 0755, $lake;

sub put
{
	my ($from, $to) = @_;
	my $dir = "$lake/$to" =~ s{/[^/]*$}{}r;
	system('mkdir', '-p', $dir) == 0 or die;
	copy("$files/$from", "$lake/new.tmp") or die "$from: $!";
	chmod 0644, "$lake/new.tmp";
	rename("$lake/new.tmp", "$lake/$to") or die "$to: $!";
	return;
}

my $node = PostgreSQL::Test::Cluster->new('changing');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION analytics_fdw');
put('parts/part-0.parquet', 'y=1/a.parquet');
put('parts/part-1.parquet', 'y=2/b.parquet');

# ---- one session sees files as they are at each statement ----------------------------------------

$node->safe_psql('postgres', qq{
	CREATE FOREIGN TABLE t (id int8, y int, f text OPTIONS (virtual '_file'))
		SERVER analytics_fdw OPTIONS (path '$lake', format 'parquet');
});
my $in = '';
my ($out, $err) = ('', '');
my $timer = IPC::Run::timeout(120);
my $psql = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ],
	'<', \$in, '>', \$out, '2>', \$err, $timer);

sub ask
{
	my ($sql) = @_;
	($out, $err) = ('', '');
	$in .= "$sql;\n\\echo done\n";
	$psql->pump until $out =~ /^done$/m;
	$out =~ s/^done\n//m;
	chomp $out;
	return $out;
}

is(ask('SELECT count(*), sum(y) FROM t'), '2000|3000', 'two files');
is(ask('PREPARE p AS SELECT count(*), max(id) FROM t WHERE y = 2'), '', 'prepare');
is(ask('EXECUTE p'), '1000|2000', 'prepared');
put('parts/part-2.parquet', 'y=2/c.parquet');
is(ask('SELECT count(*), sum(y) FROM t'), '3000|5000', 'a new file is seen');
is(ask('EXECUTE p'), '2000|3000', 'also by a prepared statement');
put('parts/part-2.parquet', 'y=1/a.parquet');
is(ask('SELECT min(id), count(*) FROM t WHERE y = 1'), '2001|1000', 'a changed file is read anew');
unlink("$lake/y=2/b.parquet") or die;
is(ask('EXECUTE p'), '1000|3000', 'a file that is gone is not looked for');

# listed by one statement, gone when the scan gets there
like(ask("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t WHERE y = 2; FETCH 1 FROM c"),
	qr/^(?:2\d\d[1-9]|2\d[1-9]0|2[1-9]00|3000)$/, 'a cursor');    # any of 2001 to 3000
unlink("$lake/y=2/c.parquet") or die;
is(ask('SELECT count(*) FROM t WHERE y = 2'), '0', 'no file is left');
is(ask('MOVE ALL FROM c; FETCH 1 FROM c; COMMIT'), '', 'the open file is read to its end');
is($err, '', 'without an error');

# many files: those behind the first are opened when the scan gets there
put('customers.parquet', sprintf('many/%02d.parquet', $_)) for 0 .. 79;
ask("CREATE FOREIGN TABLE many (id int) SERVER analytics_fdw OPTIONS (path '$lake/many')");
is(ask('SELECT count(*), sum(id) FROM many'), '40000|' . 80 * 125250, 'eighty files');
ask('SET analytics_fdw.max_threads = 1');
ask('DISCARD PLANS; BEGIN; DECLARE d CURSOR FOR SELECT id FROM many; FETCH 1 FROM d');
unlink("$lake/many/$_.parquet") for map { sprintf '%02d', $_ } 30 .. 79;
ask('FETCH ALL FROM d');
like($err, qr/could not open file.*No such file or directory|no such file or directory/is,
	'a file that disappeared is an error');
like($err, qr{many/\d\d\.parquet}, 'which names it');
ask('ROLLBACK');
is(ask('SELECT count(*) FROM many'), '15000', 'the next statement lists anew');

# no file at all; a directory that is gone
unlink glob("$lake/many/*");
ask('SELECT count(*) FROM many');
like($err, qr/no file matches option "path"/, 'an empty directory is an error');
ask("ALTER FOREIGN TABLE many OPTIONS (ADD allow_no_files 'true')");
is(ask('SELECT count(*) FROM many'), '0', 'or an empty table, where the table says so');
ask("ALTER FOREIGN TABLE many OPTIONS (DROP allow_no_files)");
rmdir "$lake/many" or die;
ask('SELECT count(*) FROM many');
like($err, qr/no such file or directory/i, 'a directory that is not there is an error');

# ---- pages that stay in memory ------------------------------------------------------------------
# A file that is written anew in place, as long as before and with the same time, has a change time
# of its own: pages of the old one are not taken for its.

sub cached
{
	return ask(q{SELECT pages_cached > 0 FROM analytics_fdw.query_log
		WHERE pid = pg_backend_pid() ORDER BY query_start DESC LIMIT 1});
}

put('groups/pages.parquet', 'pages/a.parquet');
sleep(3);    # files that were written just now are not trusted
ask("CREATE FOREIGN TABLE pages (u text) SERVER analytics_fdw OPTIONS (path '$lake/pages')");
my $count = q{SELECT count(*) FILTER (WHERE u LIKE 'user-%'), count(*) FILTER (WHERE u LIKE 'USER-%')
	FROM pages};
my $before = ask($count);
like($before, qr/^[1-9]\d*\|0$/, 'a file');
is(ask($count), $before, 'read again') for 1 .. 3;
is(cached(), 't', 'pages stay');
my @stat = stat("$lake/pages/a.parquet");
my $bytes = slurp_file("$lake/pages/a.parquet");
$bytes =~ s/user-/USER-/g;
open(my $fh, '+<:raw', "$lake/pages/a.parquet") or die;
print $fh $bytes;
close($fh) or die;
utime($stat[8], $stat[9], "$lake/pages/a.parquet") or die;
is((stat("$lake/pages/a.parquet"))[7], $stat[7], 'it is as long as before');
for my $i (1 .. 4)
{
	is(ask($count), join('|', reverse split /\|/, $before), 'its new bytes are read');
	is(cached(), 'f', 'and not kept at once');
}
sleep(3);
is(ask($count), join('|', reverse split /\|/, $before), 'nor later any others') for 1 .. 3;
is(cached(), 't', 'but kept');

# no more than a few pages are kept
ask("CREATE FOREIGN TABLE few () SERVER analytics_fdw OPTIONS (path '$files/groups/pages.parquet')");
my $sums = 'SELECT count(w), sum(x), max(u), sum(id) FROM few';
my $answer = ask($sums);
$node->append_conf('postgresql.conf', "analytics_fdw.page_cache_size = '40kB'");
$node->reload;
ok($node->poll_query_until('postgres', q{
	SELECT current_setting('analytics_fdw.page_cache_size', true) = '40kB'}), 'reloaded');
is(ask($sums), $answer, 'the same with little room') for 1 .. 4;
is(ask(q{SELECT bytes_cached <= 4 * 40960 AND pages_read > 40 FROM analytics_fdw.query_log
	WHERE pid = pg_backend_pid() ORDER BY query_start DESC LIMIT 1}), 't', 'few pages came from memory');
$node->append_conf('postgresql.conf', 'analytics_fdw.page_cache_size = 0');
$node->reload;
ok($node->poll_query_until('postgres', q{
	SELECT current_setting('analytics_fdw.page_cache_size', true) = '0'}), 'reloaded');
is(ask($sums), $answer, 'the same with none') for 1 .. 4;
is(cached(), 'f', 'which keeps nothing');
unlink("$lake/pages/a.parquet") or die;

# ---- temporary tables ---------------------------------------------------------------------------

is(ask("CREATE FOREIGN TABLE pg_temp.x () SERVER analytics_fdw OPTIONS (path '$lake/y=1')"), '',
	'a temporary table');
is(ask("SELECT count(*), min(y), max(id) FROM x"), '1000|1|3000', 'has columns of files and keys');
$in .= "\\q\n";
$psql->finish;
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname = 'x'"), '0',
	'and is gone with its session');

# ---- pg_dump (D03, D04) ------------------------------------------------------------------------------------

$node->safe_psql('postgres', qq{
	CREATE FOREIGN TABLE whole (
		id int8 OPTIONS (column_name 'i d', "default" '7') NOT NULL,
		y int, g int OPTIONS (virtual '_row_group'), t timestamptz OPTIONS (epoch_unit 'ms')
	) SERVER analytics_fdw OPTIONS (path '{"/no/where","/else,where"}', format 'parquet',
		hive_partitioning 'on', case_insensitive 'true', max_open_files '7', encoding_check 'replace');
	CREATE SERVER mine FOREIGN DATA WRAPPER analytics_fdw OPTIONS (max_threads '3');
	CREATE FOREIGN TABLE on_mine (a int) SERVER mine OPTIONS (files 'a,b', union_by_name 'on');
	CREATE FOREIGN TABLE no_columns () SERVER analytics_fdw OPTIONS (path '/nowhere/*', allow_no_files 'on');
});
my $dump = "$lake/dump.sql";
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
my $text = slurp_file($dump);
unlike($text, qr/CREATE SERVER analytics_fdw /, "the extension's server is the extension's");
$node->safe_psql('postgres', 'CREATE DATABASE again');
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('again') ],
	'the definitions can be restored without the files');
my $options = q{SELECT string_agg(x, ' ' ORDER BY x) FROM (
	SELECT relname || (SELECT string_agg(o, ' ' ORDER BY o) FROM unnest(ftoptions) o)
		FROM pg_foreign_table JOIN pg_class c ON c.oid = ftrelid
	UNION ALL SELECT attname || attfdwoptions::text || attnotnull FROM pg_attribute
		WHERE attfdwoptions IS NOT NULL) s(x)};
is($node->safe_psql('again', $options), $node->safe_psql('postgres', $options),
	'with all options');
is($node->safe_psql('again', 'SELECT count(*) FROM t'), '1000', 'and work');

done_testing();

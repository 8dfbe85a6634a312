# Threads of all sessions together stay below a limit, and every query goes on all the same. Links
# do not lead out of allowed directories.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;

my $files = $ENV{AX_TESTDATA};
my $lake = PostgreSQL::Test::Utils::tempdir;
my $limit = $PostgreSQL::Test::Utils::timeout_default;
my $first = "$lake/e0001.parquet";
system('cp', "$files/events.parquet", $first) == 0 or die "cannot copy $files/events.parquet";
for my $i (2 .. 200)
{
	link($first, sprintf("%s/e%04d.parquet", $lake, $i)) or die "cannot link: $!";
}
chmod 0755, $lake;

my $node = PostgreSQL::Test::Cluster->new('limits');
$node->init;
$node->append_conf('postgresql.conf',
	"analytics_fdw.max_threads = 2\nanalytics_fdw.max_total_threads = 1\n");
$node->start;
my $columns = 'id int8, ts timestamptz, kind text, url text, quantity int2, amount float8';
$node->safe_psql('postgres', qq{
	CREATE EXTENSION analytics_fdw;
	CREATE FOREIGN TABLE big ($columns) SERVER analytics_fdw OPTIONS (path '$lake/*.parquet');
});
my $query = q{SELECT count(*), sum(quantity) FROM big WHERE url LIKE '%s%h%' OR kind LIKE '%i%w%'};

sub ask { return $node->safe_psql('postgres', $_[0]); }

# Sessions that run the query at the same time: their answers.
sub crowd
{
	my ($n) = @_;
	my (@h, @out);
	for my $i (0 .. $n - 1)
	{
		$out[$i] = '';
		push @h, IPC::Run::start(
			[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $query ],
			'>', \$out[$i], '2>&1', IPC::Run::timeout($limit));
	}
	$_->finish for @h;
	return join('', @out);
}

my $answer = ask($query) . "\n";
is(ask('SELECT peak_threads, max_threads FROM analytics_fdw.query_log'), '1|2',
	'one thread runs where one is allowed for all');
ask('SELECT analytics_fdw.query_log_reset()');
is(crowd(6), $answer x 6, 'six sessions share one thread and all get their answer');
is(ask('SELECT count(*), max(peak_threads), count(error) FROM analytics_fdw.query_log'), '6|1|0',
	'each with one thread of its own at least, and none with more');

# A join in one session has two scans open; a cursor that rests keeps no thread.
is(ask(q{BEGIN; DECLARE c CURSOR FOR SELECT id FROM big; MOVE 5 c;
	SELECT count(*) FROM big a WHERE id = 7; COMMIT}), '200', 'open cursors do not block others');

# More threads, told to sessions that run already.
$node->adjust_conf('postgresql.conf', 'analytics_fdw.max_total_threads', '64');
$node->reload;
ask('SELECT analytics_fdw.query_log_reset()');
ok($node->poll_query_until('postgres', qq{
	SELECT current_setting('analytics_fdw.max_total_threads', true) = '64'}), 'reloaded');
SKIP:
{
	my $cores = qx(nproc);
	skip 'a machine with one core', 5 if $cores < 2;
	my $peak = 0;
	for (my $i = 0; $i < 20 && $peak < 2; $i++)
	{
		ask($query);
		$peak = ask('SELECT max(peak_threads) FROM analytics_fdw.query_log');
	}
	is($peak, 2, 'queries use what is allowed');

	# A thousand small files and one row group in one file keep all threads busy alike.
	my $many = PostgreSQL::Test::Utils::tempdir;
	chmod 0755, $many;
	system('cp', "$files/parts/part-0.parquet", "$many/f0000.parquet") == 0 or die 'cannot copy';
	for my $i (1 .. 999)
	{
		link("$many/f0000.parquet", sprintf("%s/f%04d.parquet", $many, $i)) or die 'cannot link';
	}
	ask(qq{CREATE FOREIGN TABLE small_files (id int8)
			SERVER analytics_fdw OPTIONS (path '$many/*.parquet');
		CREATE FOREIGN TABLE one_file (id int8, u text, x int)
			SERVER analytics_fdw OPTIONS (path '$files/groups/pages.parquet')});
	for my $table ('small_files', 'one_file')
	{
		ask('SELECT analytics_fdw.query_log_reset()');
		$peak = 0;
		for (my $i = 0; $i < 20 && $peak < 2; $i++)
		{
			ask("SELECT count(DISTINCT id), sum(id % 7) FROM $table");
			$peak = ask('SELECT max(peak_threads) FROM analytics_fdw.query_log');
		}
		is($peak, 2, "all threads read $table");
	}
	is(ask('SELECT max(files) FROM analytics_fdw.query_log'), '1', 'of one file');
	is(ask('SELECT count(*), sum(id) FROM small_files'), '1000000|500500000', 'each file once');
}

# --- links ----------------------------------------------------------------------------------------
my $inside = PostgreSQL::Test::Utils::tempdir;
chmod 0755, $inside;
symlink($lake, "$inside/out") or die "cannot link: $!";
symlink("$inside/real", "$inside/self") or die "cannot link: $!";
mkdir "$inside/real" or die "cannot make a directory: $!";
system('cp', $first, "$inside/real/a.parquet") == 0 or die "cannot copy";
my $set = "SET analytics_fdw.allowed_directories = '$inside'; SELECT count(*) FROM analytics_fdw.list";
is(ask("$set('$inside/real/a.parquet')"), '1', 'a file in an allowed directory');
is(ask("$set('$inside/self/a.parquet')"), '1', 'a link that stays inside');
my ($code, $out, $err) = $node->psql('postgres', "$set('$inside/out/e0001.parquet')");
like($err, qr/is not in an allowed directory/, 'a link that leads out');
($code, $out, $err) = $node->psql('postgres', "$set('$inside/out/*.parquet')");
like($err, qr/is not in an allowed directory/, 'a glob behind a link that leads out');

$node->stop;
done_testing();

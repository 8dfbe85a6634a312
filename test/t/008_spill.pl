# Aggregation and sorting beyond memory_limit go to temporary files of the server: results are the same, the
# server's limit holds, and no file is left behind on any way out.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;
use Time::HiRes qw(time usleep);

my $files = $ENV{AX_TESTDATA};
my $lake = PostgreSQL::Test::Utils::tempdir;
my $limit = $PostgreSQL::Test::Utils::timeout_default;

# Many names of one file: groups repeat, so that each of them is staged again and again.
my $first = "$lake/e0001.parquet";
system('cp', "$files/events.parquet", $first) == 0 or die "cannot copy $files/events.parquet";
for my $i (2 .. 2000)
{
	link($first, sprintf("%s/e%04d.parquet", $lake, $i)) or die "cannot link: $!";
}
chmod 0755, $lake;

my $node = PostgreSQL::Test::Cluster->new('spill');
$node->init;
$node->append_conf('postgresql.conf',
	"analytics_fdw.max_threads = 2\nanalytics_fdw.memory_limit = '14MB'\nrestart_after_crash = on\n");
$node->start;
my $columns = 'id int8, ts timestamptz, kind text, url text, quantity int2, amount float8';
$node->safe_psql('postgres', qq{
	CREATE EXTENSION analytics_fdw;
	CREATE FOREIGN TABLE few ($columns) SERVER analytics_fdw OPTIONS (path '$lake/e00[0-4]?.parquet');
	CREATE FOREIGN TABLE big ($columns) SERVER analytics_fdw OPTIONS (path '$lake/*.parquet');
});

sub temp_files
{
	my @found = glob($node->data_dir . '/base/pgsql_tmp/*');
	return scalar @found;
}

# Waits until something holds.
sub wait_until
{
	my ($test) = @_;
	my $end = time + $limit;
	while (!$test->())
	{
		return 0 if time > $end;
		usleep(5_000);
	}
	return 1;
}

# The same groups with and without.
my $groups = q{SELECT count(*), sum(c), sum(q), min(id), max(url)
	FROM (SELECT id, url, count(*) AS c, sum(quantity) AS q FROM %s GROUP BY 1, 2) s};
my $query = sprintf($groups, 'few');
my $spilled = $node->safe_psql('postgres', $query);
my $whole = $node->safe_psql('postgres', "SET analytics_fdw.memory_limit = '1GB'; $query");
is($spilled, $whole, 'the same result with and without a temporary file');
my $explain = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE) $query");
like($explain, qr/Spilled: \d+ kB/, 'EXPLAIN tells that there was one');
is(temp_files(), 0, 'no file is left after success');
ok($node->poll_query_until('postgres',
	q{SELECT temp_bytes > 0 FROM pg_stat_database WHERE datname = 'postgres'}),
	'the statistics of the server count it');

# Sets of distinct values by text, whose long strings follow their pairs into the file.
my $sets = q{SELECT count(*), sum(d), sum(q), sum(c), max(u)
	FROM (SELECT url || url || url AS u, id, count(DISTINCT quantity) AS d, count(DISTINCT ts) AS q,
			count(*) AS c
		FROM few GROUP BY 1, 2) s};
is($node->safe_psql('postgres', "SET analytics_fdw.memory_limit = '40MB'; $sets"),
	$node->safe_psql('postgres', "SET analytics_fdw.memory_limit = '1GB'; $sets"),
	'distinct values by text are the same with and without a temporary file');
like($node->safe_psql('postgres',
		"SET analytics_fdw.memory_limit = '40MB'; EXPLAIN (ANALYZE, VERBOSE) $sets"),
	qr/Spilled: \d+ kB/, 'and there was one');

# Sorts, and DISTINCT.
my $sort = q{SELECT count(*), md5(string_agg(id || url || coalesce(amount::text, ''), ','))
	FROM (SELECT id, url, amount, ts FROM few ORDER BY url COLLATE "C" DESC, amount, ts, id) s};
my $distinct = q{SELECT count(*), sum(id), max(u)
	FROM (SELECT DISTINCT id, url || url || url AS u, amount, ts, kind FROM few) s};
for my $q ($sort, $distinct)
{
	my $all = $node->safe_psql('postgres', "SET analytics_fdw.memory_limit = '4GB'; $q");
	for my $mb (16, 24, 40)
	{
		is($node->safe_psql('postgres', "SET analytics_fdw.memory_limit = '${mb}MB'; $q"), $all,
			"the same with $mb MB: $q");
	}
}
like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, VERBOSE) $sort"), qr/Spilled: \d+ kB/,
	'a sort goes to a temporary file');

# R02: an ordinary user's query may do so, too.
is($node->safe_psql('postgres', qq{
	CREATE ROLE spill_user;
	GRANT SELECT ON few TO spill_user;
	SET ROLE spill_user;
	$query}), $whole, 'R02 for a role without rights on files');
is($node->safe_psql('postgres', "SET ROLE spill_user; $sort"),
	$node->safe_psql('postgres', "SET analytics_fdw.enable_sort_pushdown = off; $sort"),
	'R02 for its sort');

# The server's limit (M09).
my ($rc, $out, $err) = $node->psql('postgres',
	"\\set VERBOSITY verbose\nSET temp_file_limit = '1MB';\n" . sprintf($groups, 'big'));
like($err, qr/53400: temporary file size exceeds temp_file_limit \(1024kB\)/, 'temp_file_limit holds');
is(temp_files(), 0, 'no file is left after an error');
my $big_sort = 'SELECT id, url, amount, ts FROM big ORDER BY ts, url COLLATE "C", id OFFSET 39999990';
($rc, $out, $err) = $node->psql('postgres',
	"\\set VERBOSITY verbose\nSET temp_file_limit = '1MB';\n$big_sort");
like($err, qr/53400: temporary file size exceeds temp_file_limit \(1024kB\)/,
	'temp_file_limit holds for a sort');

# Switched off, memory is out.
($rc, $out, $err) = $node->psql('postgres',
	"\\set VERBOSITY verbose\nSET analytics_fdw.enable_spill = off;\n"
	  . "SET analytics_fdw.memory_limit = '6MB';\n" . sprintf($groups, 'big'));
like($err, qr/53200/, 'without temporary files memory is out');

# Ends a session's query while it has a temporary file.
sub interrupted
{
	my ($how, $what) = @_;
	my ($in, $out, $err) = ('', '', '');
	my $timeout = IPC::Run::timeout($limit);
	my $h = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d', $node->connstr('postgres') ],
		'<', \$in, '>', \$out, '2>', \$err, $timeout);
	$in .= "\\set VERBOSITY verbose\nSELECT pg_backend_pid();\n"
		. ($what // sprintf($groups, 'big')) . ";\n";
	$h->pump until $out =~ /^(\d+)\n/;
	my $pid = $1;
	wait_until(sub { temp_files() > 0 }) or die 'the query does not spill';
	$how->($pid);
	$in .= "\\q\n";
	eval { $h->finish; };
	return $err;
}

like(interrupted(sub { kill 'INT', $_[0]; }), qr/57014/, 'cancelled while there is a file');
ok(wait_until(sub { temp_files() == 0 }), 'no file is left after a cancel');
my $began;
like(interrupted(sub { $began = time; kill 'INT', $_[0]; }, $big_sort), qr/57014/, 'and a sort');
cmp_ok(time - $began, '<', 5, 'soon'); # the harness itself takes its time
ok(wait_until(sub { temp_files() == 0 }), 'no file is left after a cancelled sort');
interrupted(sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend($_[0])"); });
ok(wait_until(sub { temp_files() == 0 }), 'no file is left after a terminated session');
interrupted(sub { kill 'KILL', $_[0]; });
ok(wait_until(sub { temp_files() == 0 }), 'no file is left after a crash');
ok(wait_until(sub { my $r = eval { $node->safe_psql('postgres', $query); }; defined $r && $r eq $whole }),
	'and the server goes on');

$node->stop;
done_testing();

# What queries do is seen by other sessions while they run, and logged when they end: from sessions
# that are gone, after errors, and never to roles that may not know. A crash leaves nothing behind.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;
use Time::HiRes qw(usleep);

my $files = $ENV{AX_TESTDATA};
my $lake = PostgreSQL::Test::Utils::tempdir;
my $limit = $PostgreSQL::Test::Utils::timeout_default;

# Enough rows to keep a query busy for seconds: many names of one file.
my $first = "$lake/e0001.parquet";
system('cp', "$files/events.parquet", $first) == 0 or die "cannot copy $files/events.parquet";
for my $i (2 .. 3000)
{
	link($first, sprintf("%s/e%04d.parquet", $lake, $i)) or die "cannot link: $!";
}
chmod 0755, $lake;

my $node = PostgreSQL::Test::Cluster->new('activity');
$node->init;
$node->append_conf('postgresql.conf',
	"analytics_fdw.max_threads = 2\nrestart_after_crash = on\ncompute_query_id = on\n");
$node->start;
my $columns = 'id int8, ts timestamptz, kind text, url text, quantity int2, amount float8';
$node->safe_psql('postgres', qq{
	CREATE EXTENSION analytics_fdw;
	CREATE FOREIGN TABLE big ($columns) SERVER analytics_fdw OPTIONS (path '$lake/*.parquet');
	CREATE FOREIGN TABLE small ($columns) SERVER analytics_fdw
		OPTIONS (path '$files/events.parquet');
	CREATE ROLE plain LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_read_all_stats;
	GRANT SELECT ON big, small TO plain;
});
my $slow = q{SELECT count(*) FROM (SELECT url, kind, id + quantity, count(*), min(amount) FROM big
	WHERE url LIKE '%s%h%' OR kind LIKE '%i%w%' GROUP BY 1, 2, 3) s};

sub ask { return $node->safe_psql('postgres', $_[0]); }

# A psql of its own that runs one script.
sub start_session
{
	my ($sql) = @_;
	my ($out, $err) = ('', '');
	my $h = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $sql ],
		'>', \$out, '2>', \$err, IPC::Run::timeout($limit));
	return { h => $h, out => \$out, err => \$err };
}

# Ask until the answer is true.
sub until_true
{
	my ($sql) = @_;
	for (my $i = 0; $i < $limit * 20; $i++)
	{
		return 1 if ask($sql) eq 't';
		usleep(50_000);
	}
	return 0;
}

my $running = 'SELECT count(*) > 0 FROM analytics_fdw.stat_queries';
my $idle = 'SELECT count(*) = 0 FROM analytics_fdw.stat_queries';

# --- while it runs --------------------------------------------------------------------------------
is(ask('SELECT count(*) FROM analytics_fdw.stat_queries'), '0', 'nothing runs at first');
is(ask('SELECT count(*) FROM analytics_fdw.query_log'), '0', 'nothing is logged at first');

my $s = start_session($slow);
ok(until_true("$running WHERE rows_read > 0 AND phase = 'executing'"), 'a running query is seen');
my $seen = ask(q{SELECT files_total, row_groups_total > 0, relid::regclass, usename, datname,
		bytes_total > 1000000, queryid IS NOT NULL, max_threads, threads BETWEEN 1 AND 2,
		memory > 0, peak_memory >= memory, files_done < files_total
	FROM analytics_fdw.stat_queries});
like($seen, qr/^3000\|t\|big\|\w+\|postgres\|t\|t\|2\|t\|t\|t\|t$/, 'what it is and does');
is(ask(q{SELECT pid = (SELECT pid FROM pg_stat_activity WHERE query LIKE '%FROM big%'
			AND pid <> pg_backend_pid() AND state = 'active')
		AND q.queryid = (SELECT query_id FROM pg_stat_activity a WHERE a.pid = q.pid)
	FROM analytics_fdw.stat_queries q}), 't', 'pid and queryid are those of pg_stat_activity');
my ($rows, $groups) = split /\|/,
	ask('SELECT rows_read, row_groups_done FROM analytics_fdw.stat_queries');
ok(until_true("$running WHERE rows_read > $rows AND row_groups_done > $groups"), 'it moves on');

# --- who sees it ----------------------------------------------------------------------------------
is($node->safe_psql('postgres', 'SELECT count(*) FROM analytics_fdw.stat_queries',
		extra_params => [ '-U', 'plain' ]), '0', 'nobody sees queries of others');
is($node->safe_psql('postgres', 'SELECT count(*) FROM analytics_fdw.stat_queries',
		extra_params => [ '-U', 'watcher' ]), '1', 'but members of pg_read_all_stats do');

# --- cancelled, and logged ------------------------------------------------------------------------
ask('SELECT pg_cancel_backend(pid) FROM analytics_fdw.stat_queries');
$s->{h}->finish;
like(${ $s->{err} }, qr/canceling statement/, 'the query was cancelled');
ok(until_true($idle), 'and is gone from the view');
is(ask('SELECT error, sqlstate, rows_read > 0, files FROM analytics_fdw.query_log'),
	'canceling statement due to user request|57014|t|3000', 'the log tells what ended it');

# --- sessions that are gone -----------------------------------------------------------------------
ask('SELECT analytics_fdw.query_log_reset()');
is(ask('SELECT count(*) FROM analytics_fdw.query_log'), '0', 'reset');
ask('SELECT count(*) FROM small WHERE id < 100');
ask('SELECT kind, count(*) FROM small GROUP BY kind');
$node->psql('postgres', 'SELECT sum(1 / (id - 7)) FROM small');
is(ask(q{SELECT string_agg(concat_ws(' ', relid::regclass, format, row_groups, row_groups_read,
			removed_minmax, rows_read, rows_returned, sqlstate, error), ', ' ORDER BY query_start)
		FROM analytics_fdw.query_log WHERE sqlstate IS NULL}),
	'small parquet 4 1 3 500 1, small parquet 4 4 0 20000 4', 'what ended queries did');
is(ask(q{SELECT sqlstate, error FROM analytics_fdw.query_log WHERE sqlstate IS NOT NULL}),
	'22012|division by zero', 'errors of the engine are logged');
is(ask(q{SELECT count(DISTINCT pid), bool_and(duration >= 0 AND cpu_time > 0 AND io_wait >= 0
			AND peak_threads BETWEEN 1 AND max_threads AND peak_memory > 0)
		FROM analytics_fdw.query_log}), '3|t', 'of three sessions, with their costs');
ask("EXPLAIN SELECT * FROM small; SELECT analytics_fdw.explain_pipeline('SELECT * FROM small')");
is(ask('SELECT count(*) FROM analytics_fdw.query_log'), '3', 'what does not run is not logged');

# --- rights on the log ----------------------------------------------------------------------------
my @plain = (extra_params => [ '-U', 'plain' ]);
is($node->safe_psql('postgres', 'SELECT count(*) FROM small; '
		. 'SELECT count(*), min(usename) FROM analytics_fdw.query_log', @plain),
	"20000\n1|plain", 'one sees only what one ran');
my ($code, $out, $err) = $node->psql('postgres', 'SELECT analytics_fdw.query_log_reset()', @plain);
like($err, qr/permission denied/, 'and may not reset the log');
is($node->safe_psql('postgres', 'SELECT count(*) FROM analytics_fdw.query_log',
		extra_params => [ '-U', 'watcher' ]), '4', 'pg_read_all_stats sees all');

# --- the ring -------------------------------------------------------------------------------------
ask(q{DO $$ BEGIN FOR i IN 1..600 LOOP PERFORM count(*) FROM small WHERE id = i; END LOOP; END $$});
is(ask('SELECT count(*), bool_and(query_start >= lag) FROM (SELECT query_start, '
		. 'lag(query_start, 1, query_start) OVER () FROM analytics_fdw.query_log) s'),
	'512|t', 'the last 512 are kept, oldest first');

# --- a session that is terminated -----------------------------------------------------------------
$s = start_session($slow);
ok(until_true($running), 'a query runs');
ask('SELECT pg_terminate_backend(pid) FROM analytics_fdw.stat_queries');
$s->{h}->finish;
ok(until_true($idle), 'its slot is free when the session is terminated');

# --- a crash --------------------------------------------------------------------------------------
$s = start_session($slow);
ok(until_true($running), 'a query runs');
my $pid = ask('SELECT pid FROM analytics_fdw.stat_queries');
kill 'KILL', $pid;
$s->{h}->finish;
$node->poll_query_until('postgres', 'SELECT true');
is(ask('SELECT count(*) FROM analytics_fdw.stat_queries'), '0', 'nothing is left after a crash');
is(ask('SELECT count(*) FROM analytics_fdw.query_log'), '0', 'the log starts over');
is(ask('SELECT count(*) FROM small; SELECT count(*) FROM analytics_fdw.query_log'), "20000\n1",
	'and works');

$node->stop;
done_testing();

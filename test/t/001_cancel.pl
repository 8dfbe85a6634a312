# Queries end at once when they are told to, in every way there is, and leave nothing running.
# Nothing here is timed against a limit: the measured latency is printed for the reader.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use IPC::Run;
use Test::More;
use Time::HiRes qw(time usleep);

my $files = $ENV{AX_TESTDATA};
my $lake = PostgreSQL::Test::Utils::tempdir;

# Enough rows to keep two threads busy for seconds: many names of one file. The first is a copy,
# since links to files of others may be forbidden.
my $first = "$lake/e0001.parquet";
system('cp', "$files/events.parquet", $first) == 0 or die "cannot copy $files/events.parquet";
for my $i (2 .. 2000)
{
	link($first, sprintf("%s/e%04d.parquet", $lake, $i)) or die "cannot link: $!";
}
chmod 0755, $lake;

my $node = PostgreSQL::Test::Cluster->new('cancel');
$node->init;
$node->append_conf('postgresql.conf', "analytics_fdw.max_threads = 2\nlog_min_messages = warning\n" .
	"restart_after_crash = on\nclient_connection_check_interval = 100\n");
$node->start;
my $columns = 'id int8, ts timestamptz, kind text, url text, quantity int2, amount float8';
$node->safe_psql('postgres', qq{
	CREATE EXTENSION analytics_fdw;
	CREATE FOREIGN TABLE big ($columns) SERVER analytics_fdw OPTIONS (path '$lake/*.parquet');
	CREATE FOREIGN TABLE small ($columns) SERVER analytics_fdw
		OPTIONS (path '$files/events.parquet');
});
my $slow = q{SELECT count(*) FROM (SELECT url, kind, id + quantity, count(*), min(amount) FROM big
	WHERE url LIKE '%s%h%' OR kind LIKE '%i%w%' GROUP BY 1, 2, 3) s};

# No test waits for less than this: on a busy machine everything takes its time.
my $limit = $PostgreSQL::Test::Utils::timeout_default;

sub threads { my ($pid) = @_; my @t = glob("/proc/$pid/task/*"); return scalar @t; }

# A session on its own connection; commands go in, the caller waits for text to come out.
sub session
{
	my ($in, $out) = ('', '');
	my $timeout = IPC::Run::timeout($limit);
	my $h = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d', $node->connstr('postgres') ],
		'<', \$in, '>', \$out, '2>', '/dev/null', $timeout);
	my $s = { in => \$in, out => \$out, h => $h, timeout => $timeout };
	$s->{pid} = ask($s, 'SELECT pg_backend_pid();');
	return $s;
}

sub send_sql
{
	my ($s, $sql) = @_;
	${ $s->{out} } = '';
	${ $s->{in} } .= "$sql\n";
	$s->{h}->pump_nb;
	return;
}

# What comes out before a line "<word> <end>": (the lines before, the word).
sub wait_for
{
	my ($s, $end) = @_;
	$s->{timeout}->start($limit);
	$s->{h}->pump until ${ $s->{out} } =~ /^(.*?)\n?(\S+) $end$/ms;
	return (${ $s->{out} } =~ /^(.*?)\n?(\S+) $end$/ms);
}

sub ask
{
	my ($s, $sql) = @_;
	send_sql($s, "$sql\n\\echo is ready");
	my ($answer) = wait_for($s, 'ready');
	return $answer;
}

# Waits until something holds.
sub wait_until
{
	my ($test) = @_;
	my $end = time + $limit;
	while (!$test->())
	{
		return 0 if time > $end;
		usleep(10_000);
	}
	return 1;
}

# Processor time of a process, in ticks of 10 ms.
sub ticks
{
	my ($s) = @_;
	my $line = slurp_file("/proc/$s->{pid}/stat");
	my @f = split ' ', ($line =~ s/^.*\) //r);
	return $f[11] + $f[12];
}

# Starts the slow query; returns when it has been running for a while.
sub start_slow
{
	my ($s, $query) = (@_, $slow);
	my $before = ticks($s);
	send_sql($s, "$query;\n\\echo :SQLSTATE done");
	wait_until(sub { $s->{h}->pump_nb; return ticks($s) >= $before + 10; })
	  or die "the query does not run";
	return;
}

sub gone { my ($s) = @_; return wait_until(sub { !-d "/proc/$s->{pid}" }); }

# EXPLAIN and plans that are never run start no thread.
my $s = session();
ask($s, "EXPLAIN $slow;");
ask($s, "EXPLAIN (COSTS OFF) SELECT id FROM big WHERE id < 3 ORDER BY id LIMIT 2;");
ask($s, "PREPARE never AS SELECT count(*) FROM big WHERE id < 3;");
is(threads($s->{pid}), 1, 'EXPLAIN and PREPARE start no thread');

# pg_cancel_backend, twenty times.
my @ms;
for my $try (1 .. 20)
{
	start_slow($s);
	my $start = time;
	kill 'INT', $s->{pid};
	my (undef, $state) = wait_for($s, 'done');
	last if $state ne '57014';
	push @ms, 1000 * (time - $start);
}
is(scalar @ms, 20, 'twenty queries were cancelled with SQLSTATE 57014');
@ms = sort { $a <=> $b } @ms;
diag(sprintf('cancel latency: median %.1f ms, max %.1f ms', $ms[$#ms / 2], $ms[-1])) if @ms;
is(ask($s, 'SELECT count(*) FROM small;'), '20000', 'the session goes on');

# statement_timeout
is(ask($s, "SET statement_timeout = 100;\n$slow;\n\\echo :SQLSTATE\nRESET statement_timeout;"),
	'57014', 'statement_timeout ends a query');
is(ask($s, 'SELECT count(*) FROM small;'), '20000', 'and the session goes on');

# Cancelled while PostgreSQL computes for the engine, which waits for 2048 values of some
# milliseconds each; errors of values, each with a subtransaction of its own, do not change that.
my $host = q{SELECT count(*) FROM big
	WHERE length(regexp_replace(repeat(id::text || url, 30000), '(\d)(.)\1', 'x', 'g')) = 5};
like(ask($s, "EXPLAIN (COSTS OFF) $host;"), qr/Computed by PostgreSQL/, 'PostgreSQL computes');
my @host_ms;
for my $try (1 .. 5)
{
	start_slow($s, $host);
	my $start = time;
	kill 'INT', $s->{pid};
	my (undef, $state) = wait_for($s, 'done');
	last if $state ne '57014';
	push @host_ms, 1000 * (time - $start);
}
is(scalar @host_ms, 5, 'five queries were cancelled while PostgreSQL computed');
diag(sprintf('cancel latency: max %.1f ms', (sort { $a <=> $b } @host_ms)[-1])) if @host_ms;
is(ask($s, "SET statement_timeout = 200;\n$host;\n\\echo :SQLSTATE\nRESET statement_timeout;"),
	'57014', 'statement_timeout ends one');
is(ask($s, q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'analytics_fdw answers';}),
	'0', 'no memory for answers is left');
is(ask($s, q{SELECT count(*) FROM (SELECT id FROM big WHERE url IS NOT NULL
	AND ('1' || CASE WHEN id % 1000 = 999 THEN url ELSE '' END)::int = 1 LIMIT 500) s;}),
	'500', 'errors of values that a LIMIT cuts off are not raised');
is(ask($s, q{SELECT count(*) FROM big WHERE ('1' || url)::int = 1;} . "\n\\echo :SQLSTATE"), '22P02',
	'and others are');
is(ask($s, 'SELECT count(*) FROM small;'), '20000', 'and the session goes on');

# A cancelled query has no running thread: the processor time of the process stands still.
my $t0 = ticks($s);
usleep(500_000);
cmp_ok(ticks($s) - $t0, '<=', 2, 'nothing runs after a cancelled query');

# Cancelled while a cursor is open elsewhere in the transaction, and inside a subtransaction.
ask($s, 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM big; SAVEPOINT a;');
like(ask($s, 'FETCH 1 FROM c;'), qr/^\d+$/, 'a cursor is read');
is(ask($s, "SET statement_timeout = 100;\n$slow;\n\\echo :SQLSTATE"), '57014', 'cancelled');
ask($s, 'ROLLBACK TO a;');
like(ask($s, 'FETCH 1 FROM c;'), qr/^\d+$/, 'the cursor outlives the failed statement');
ask($s, 'ROLLBACK; RESET statement_timeout;');

# pg_terminate_backend
start_slow($s);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($s->{pid})");
ok($node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $s->{pid}"), 'a backend is terminated');
ok(gone($s), 'and its process is gone');
eval { $s->{h}->finish; };

# The client goes away in the middle of a query.
$s = session();
start_slow($s);
$s->{h}->kill_kill;
ok($node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $s->{pid}"),
	'a backend ends after its client is gone');

# kill -9: the server recovers, nothing is left.
$s = session();
start_slow($s);
kill 'KILL', $s->{pid};
ok(gone($s), 'a killed backend is gone with its threads');
ok($node->poll_query_until('postgres', 'SELECT true'), 'the server comes back');
is($node->safe_psql('postgres', 'SELECT count(*) FROM small'), '20000', 'the server works again');
eval { $s->{h}->finish; };

# A fast shutdown during a query.
$s = session();
start_slow($s);
$node->stop('fast');
ok(gone($s), 'a fast shutdown ends a running query');
eval { $s->{h}->finish; };

done_testing();

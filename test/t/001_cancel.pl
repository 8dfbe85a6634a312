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

# Enough rows to keep two threads busy for seconds: many names of one file.
for my $i (1 .. 400)
{
	link("$files/events.parquet", sprintf("%s/e%03d.parquet", $lake, $i))
	  or system('cp', "$files/events.parquet", sprintf("%s/e%03d.parquet", $lake, $i)) == 0
	  or die "cannot copy: $!";
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

sub threads { my ($pid) = @_; my @t = glob("/proc/$pid/task/*"); return scalar @t; }

# A session on its own connection; commands go in, the caller waits for text to come out.
sub session
{
	my ($in, $out) = ('', '');
	my $timer = IPC::Run::timer(180);
	my $h = IPC::Run::start([ 'psql', '-XAtq', '-f', '-', '-d', $node->connstr('postgres') ],
		'<', \$in, '>', \$out, '2>', '/dev/null', $timer);
	my $s = { in => \$in, out => \$out, h => $h };
	$s->{pid} = ask($s, 'SELECT pg_backend_pid();');
	return $s;
}

sub send_sql { my ($s, $sql) = @_; ${ $s->{in} } .= "$sql\n"; $s->{h}->pump_nb; return; }

sub ask
{
	my ($s, $sql) = @_;
	${ $s->{out} } = '';
	send_sql($s, "$sql\n\\echo ready");
	$s->{h}->pump until ${ $s->{out} } =~ /ready/;
	my ($answer) = ${ $s->{out} } =~ /^(.*?)\n?ready/s;
	return $answer;
}

sub wait_active
{
	my ($pid) = @_;
	$node->poll_query_until('postgres',
		"SELECT state = 'active' AND query LIKE '%big%' FROM pg_stat_activity WHERE pid = $pid");
	usleep(50_000);
	return;
}

# EXPLAIN and plans that are never run start no thread.
my $s = session();
ask($s, "EXPLAIN $slow;");
my $before = threads($s->{pid});
ask($s, "EXPLAIN (COSTS OFF) SELECT id FROM big WHERE id < 3 ORDER BY id LIMIT 2;");
is(threads($s->{pid}), $before, 'EXPLAIN starts no further thread');

# pg_cancel_backend, twenty times.
my @ms;
for my $try (1 .. 20)
{
	${ $s->{out} } = '';
	send_sql($s, "$slow;\n\\echo :SQLSTATE done");
	wait_active($s->{pid});
	my $start = time;
	kill 'INT', $s->{pid};
	$s->{h}->pump until ${ $s->{out} } =~ /(\S+) done/;
	push @ms, 1000 * (time - $start);
	my ($state) = ${ $s->{out} } =~ /(\S+) done/;
	last if $state ne '57014';
}
is(scalar @ms, 20, 'twenty queries were cancelled with SQLSTATE 57014');
@ms = sort { $a <=> $b } @ms;
diag(sprintf('cancel latency: median %.1f ms, max %.1f ms', $ms[9], $ms[-1]));
is(ask($s, 'SELECT count(*) FROM small;'), '20000', 'the session goes on');

# statement_timeout
is(ask($s, "SET statement_timeout = 100;\n$slow;\n\\echo :SQLSTATE\nRESET statement_timeout;"),
	'57014', 'statement_timeout ends a query');
is(ask($s, 'SELECT count(*) FROM small;'), '20000', 'and the session goes on');

# A cancelled query has no running thread: the processor time of the process stands still.
sub ticks
{
	my $line = slurp_file("/proc/$s->{pid}/stat");
	my @f = split ' ', ($line =~ s/^.*\) //r);
	return $f[11] + $f[12];
}
usleep(200_000);
my $t0 = ticks();
usleep(500_000);
cmp_ok(ticks() - $t0, '<=', 2, 'nothing runs after a cancelled query');

# Cancelled while a cursor is open elsewhere in the transaction, and inside a subtransaction.
ask($s, 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM big; SAVEPOINT a;');
like(ask($s, 'FETCH 1 FROM c;'), qr/^\d+$/, 'a cursor is read');
is(ask($s, "SET statement_timeout = 100;\n$slow;\n\\echo :SQLSTATE"), '57014', 'cancelled');
ask($s, 'ROLLBACK TO a;');
like(ask($s, 'FETCH 1 FROM c;'), qr/^\d+$/, 'the cursor outlives the failed statement');
ask($s, 'ROLLBACK; RESET statement_timeout;');

# pg_terminate_backend
send_sql($s, "$slow;");
wait_active($s->{pid});
$node->safe_psql('postgres', "SELECT pg_terminate_backend($s->{pid})");
ok($node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $s->{pid}"), 'a backend is terminated');
ok(!-d "/proc/$s->{pid}", 'and its process is gone');
eval { $s->{h}->finish; };

# The client goes away in the middle of a query.
$s = session();
send_sql($s, "$slow;");
wait_active($s->{pid});
$s->{h}->kill_kill;
ok($node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $s->{pid}"),
	'a backend ends after its client is gone');

# kill -9: the server recovers, nothing is left.
$s = session();
send_sql($s, "$slow;");
wait_active($s->{pid});
kill 'KILL', $s->{pid};
$node->poll_query_until('postgres', 'SELECT true');
ok(!-d "/proc/$s->{pid}", 'a killed backend is gone with its threads');
is($node->safe_psql('postgres', 'SELECT count(*) FROM small'), '20000', 'the server works again');
eval { $s->{h}->finish; };

# A fast shutdown during a query.
$s = session();
send_sql($s, "$slow;");
wait_active($s->{pid});
$node->stop('fast');
ok(!-d "/proc/$s->{pid}", 'a fast shutdown ends a running query');
eval { $s->{h}->finish; };

done_testing();

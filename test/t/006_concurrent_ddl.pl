# Definitions, files and rows that other sessions change: cached plans, open cursors, rows checked
# again (EvalPlanQual), functions in parallel workers.
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
	copy("$files/$from", "$lake/new.tmp") or die "$from: $!";
	chmod 0644, "$lake/new.tmp";
	rename("$lake/new.tmp", "$lake/$to") or die "$to: $!";
	return;
}

my $node = PostgreSQL::Test::Cluster->new('ddl');
$node->init;
$node->start;
put('parts/part-0.parquet', 'a.parquet');
put('parts/part-1.parquet', 'b.parquet');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION analytics_fdw;
	CREATE FOREIGN TABLE t (id int8, kind text) SERVER analytics_fdw OPTIONS (path '$lake/*.parquet');
	CREATE FOREIGN TABLE events (id int8 NOT NULL, kind text, quantity int2) SERVER analytics_fdw
		OPTIONS (path '$files/events.parquet');
});

package Session;

sub new
{
	my ($class) = @_;
	my $self = bless { in => '', out => '', err => '' }, $class;
	$self->{psql} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate',
			'-d', $node->connstr('postgres') ], '<', \$self->{in}, '>', \$self->{out},
		'2>', \$self->{err}, IPC::Run::timeout(120));
	return $self;
}

# Sends without waiting for the end.
sub send
{
	my ($self, $sql) = @_;
	($self->{out}, $self->{err}) = ('', '');
	$self->{in} .= "$sql;\n\\echo done\n";
	$self->{psql}->pump_nb;
	return;
}

# Waits for the end: rows, or the SQLSTATE of an error.
sub answer
{
	my ($self) = @_;
	$self->{psql}->pump until $self->{out} =~ /^done$/m;
	my $out = $self->{out} =~ s/^done\n//mr;
	chomp $out;
	for (1 .. 20)
	{
		last if $out ne '' || $self->{err} ne '';
		$self->{psql}->pump_nb;
		select(undef, undef, undef, 0.01);
	}
	return $self->{err} =~ /ERROR: +(\w+)/ ? $1 : $out;
}

sub ask
{
	my ($self, $sql) = @_;
	$self->send($sql);
	return $self->answer;
}

package main;

my $s1 = Session->new;
my $s2 = Session->new;

# ---- definitions that change below a prepared statement -------------------------------------------

$s1->ask('SET plan_cache_mode = force_generic_plan');
$s1->ask('PREPARE n(int) AS SELECT count(*), min(id), max(id) FROM t WHERE id > $1');
is($s1->ask('EXECUTE n(500)'), '1500|501|2000', 'a generic plan');
$s2->ask("ALTER FOREIGN TABLE t OPTIONS (SET path '$lake/a.parquet')");
is($s1->ask('EXECUTE n(500)'), '500|501|1000', 'another path');
$s2->ask("ALTER FOREIGN TABLE t OPTIONS (SET path '$lake/*.parquet', ADD case_insensitive 'on')");
is($s1->ask('EXECUTE n(500)'), '1500|501|2000', 'an option more');
$s2->ask("ALTER FOREIGN TABLE t OPTIONS (DROP case_insensitive)");
$s2->ask("ALTER FOREIGN TABLE t ADD COLUMN quantity int2, DROP COLUMN kind");
is($s1->ask('EXECUTE n(1999)'), '1|2000|2000', 'another list of columns');
$s1->ask('PREPARE q AS SELECT * FROM t WHERE id = 1');
is($s1->ask('EXECUTE q'), '1|4', 'all columns');
$s2->ask('ALTER FOREIGN TABLE t ADD COLUMN kind text');
is($s1->ask('EXECUTE q'), '0A000', 'the result has another type now, as with any table');
$s2->ask("ALTER FOREIGN TABLE t ALTER id OPTIONS (ADD column_name 'quantity')");
is($s1->ask('EXECUTE n(18)'), (split /\n/, $node->safe_psql('postgres',
	'SELECT count(*), min(quantity), max(quantity) FROM events WHERE id <= 2000 AND quantity > 18'))[0],
	'a column that is another one of the files');
$s2->ask("ALTER FOREIGN TABLE t ALTER id OPTIONS (DROP column_name)");
$s2->ask('ALTER SERVER analytics_fdw OPTIONS (ADD max_threads \'1\')');
is($s1->ask('EXECUTE n(500)'), '1500|501|2000', 'an option of the server');

# ---- an order that files have no longer ------------------------------------------------------------

$s2->ask("ALTER FOREIGN TABLE t OPTIONS (ADD sorted 'id')");
my $in_order = 'SELECT count(*), count(*) FILTER (WHERE d < 0) FROM (SELECT id - lag(id) OVER () AS d ' .
	'FROM (SELECT id FROM t WHERE id > $1 ORDER BY id OFFSET 0) s) s';
$s1->ask("PREPARE o(int) AS $in_order");
like($s1->ask('EXPLAIN EXECUTE o(0)'), qr/Stored Order/, 'the plan counts on the order of the files');
is($s1->ask('EXECUTE o(0)'), '2000|0', 'which they have');
put('parts/part-0.parquet', 'c.parquet');
is($s1->ask('EXECUTE o(0)'), '3000|0', 'and when they overlap the engine sorts');
like($s1->ask('EXPLAIN EXECUTE o(0)'), qr/Stored Order/, 'in the same plan');
$s2->ask("ALTER FOREIGN TABLE t OPTIONS (ADD files_in_order 'on')");
is($s1->ask('EXECUTE o(0)'), 'XX001', 'a declaration that is not true');
unlink("$lake/c.parquet") or die;
is($s1->ask('EXECUTE o(0)'), '2000|0', 'and true again');

# ---- open cursors hold their files and their definition ---------------------------------------------

$s1->ask('BEGIN');
$s1->ask('DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id');
is($s1->ask('FETCH 2 FROM c'), "1\n2", 'a cursor');
$s2->ask("SET lock_timeout = '300ms'");
is($s2->ask('DROP FOREIGN TABLE t'), '55P03', 'a table that is read is not dropped');
is($s2->ask("ALTER FOREIGN TABLE t OPTIONS (SET path '$lake/b.parquet')"), '55P03', 'nor changed');
put('parts/part-2.parquet', 'b.parquet');
is($s1->ask('SAVEPOINT s; SELECT count(*) FROM t; ROLLBACK TO s; FETCH 1 FROM c'), "2000\n3",
	'it goes on after a subtransaction');
is($s1->ask('SAVEPOINT s; SELECT 1 / (id - 1) FROM t'), '22012', 'and after an error');
is($s1->ask('ROLLBACK TO s; FETCH 1 FROM c'), '4', 'of another query');
$s1->ask('COMMIT');
is($s2->ask('DROP FOREIGN TABLE t'), '', 'dropped');
is($s1->ask('EXECUTE n(500)'), '42P01', 'a plan over a table that is gone');

# ---- rows that are checked again ----------------------------------------------------------------------

$s2->ask('RESET lock_timeout');
$s1->ask('CREATE TABLE heap AS SELECT g AS key, 0 AS v FROM generate_series(1, 3) g; ANALYZE heap');
my $one = $s1->ask('SELECT quantity FROM events WHERE id = 1');
for my $how ('SET enable_nestloop = off', 'SET enable_hashjoin = off; SET enable_mergejoin = off')
{
	$s2->ask("RESET ALL; $how");
	$s1->ask('UPDATE heap SET v = 0, key = abs(key)');
	$s1->ask('BEGIN; UPDATE heap SET key = -key WHERE key = 1; UPDATE heap SET v = 5 WHERE key = 3');
	$s2->send('UPDATE heap SET v = v + e.quantity FROM events e WHERE e.id = heap.key AND e.id <> 2 ' .
			'RETURNING key');
	$node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'") or die;
	$s1->ask('COMMIT');
	my $three = $node->safe_psql('postgres', 'SELECT quantity FROM events WHERE id = 3');
	is($s2->answer, '3', "$how: a row whose key changed is left out");
	is($s1->ask('SELECT v FROM heap WHERE key = 3'), 5 + $three, 'one that changed otherwise is not');
	$s1->ask('UPDATE heap SET key = abs(key)');
	$s1->ask('BEGIN; UPDATE heap SET v = 1 WHERE key = 1');
	$s2->send('SELECT key, v, quantity FROM heap JOIN events e ON e.id = heap.key WHERE key = 1 FOR UPDATE OF heap');
	$node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'") or die;
	$s1->ask('COMMIT');
	is($s2->answer, "1|1|$one", 'a row that is locked');
}

# ---- in parallel workers ------------------------------------------------------------------------------

my $parallel = $node->safe_psql('postgres', q{
	CREATE FUNCTION upto(n int8) RETURNS bigint PARALLEL SAFE LANGUAGE sql
		AS 'SELECT count(*) FROM events WHERE id <= n';
	CREATE FUNCTION looped(n int8) RETURNS bigint PARALLEL SAFE LANGUAGE plpgsql AS $$
		DECLARE r record; s bigint := 0;
		BEGIN
			FOR r IN SELECT id FROM events WHERE id <= n LOOP s := s + r.id; END LOOP;
			RETURN s;
		END $$;
	CREATE TABLE numbers AS SELECT g AS n FROM generate_series(1, 500) g;
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 2;
	SET force_parallel_mode = on;
	SELECT bool_and(upto(n) = n) FROM numbers;
	SELECT sum(upto(n)) FROM numbers WHERE n % 100 = 0;
	SELECT count(*) FROM numbers JOIN events e ON e.id = n;
	SELECT sum(l.c) FROM numbers, LATERAL (SELECT count(*) AS c FROM events WHERE id < n) l WHERE n < 20;
});
is($parallel, "t\n1500\n500\n171", 'queries of workers, and beside them');
is($node->safe_psql('postgres', q{
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET force_parallel_mode = on;
	SELECT looped(n) FROM numbers WHERE n = 100;
}), '5050', 'a loop in a worker');

$s1->{in} .= "\\q\n";
$s2->{in} .= "\\q\n";
$_->{psql}->finish for $s1, $s2;
unlike(slurp_file($node->logfile), qr/leaked|PANIC|terminated by signal/, 'nothing leaked or crashed');
$node->stop;
done_testing();

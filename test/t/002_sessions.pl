# Many sessions at once, threads per backend, preloaded and not.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $files = $ENV{AX_TESTDATA};
my $node = PostgreSQL::Test::Cluster->new('sessions');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'analytics_fdw'\n");
$node->start;

# D11: preloaded into the postmaster, no thread there.
my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
my @tasks = glob("/proc/$postmaster/task/*");
is(scalar @tasks, 1, 'the postmaster has one thread');

$node->safe_psql('postgres', qq{
	CREATE EXTENSION analytics_fdw;
	CREATE FOREIGN TABLE events (id int8, kind text, quantity int2) SERVER analytics_fdw
		OPTIONS (path '$files/events.parquet');
});
my $script = $node->basedir . '/mix.sql';
append_to_file($script, q{
\set k random(1, 20000)
SELECT count(*), sum(quantity) FROM events WHERE id <= :k;
SELECT kind, count(*) FROM events GROUP BY kind ORDER BY 2 DESC LIMIT 2;
SELECT id FROM events ORDER BY quantity DESC, id LIMIT 5;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM events;
FETCH 10 FROM c;
COMMIT;
});
my ($out, $err) = run_command([ 'pgbench', '-n', '-c', '20', '-j', '2', '-t', '10', '-M', 'prepared',
	'-f', $script, '-h', $node->host, '-p', $node->port, 'postgres' ]);
like($out, qr{processed: 200/200}, 'twenty clients run their queries');
unlike($err, qr/ERROR|FATAL|aborted/, 'without an error');

# One thread is enough for several scans in one plan.
is($node->safe_psql('postgres', q{
	SET analytics_fdw.max_threads = 1;
	SET enable_hashjoin = off; SET enable_nestloop = off;
	SELECT count(*) FROM events a JOIN events b USING (id) JOIN events c USING (id);
}), '20000', 'a merge join of three scans on one thread');

# In a parallel plan, in a background process of a function, after DISCARD ALL.
is($node->safe_psql('postgres', q{
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET force_parallel_mode = on;
	CREATE TABLE heap AS SELECT g AS id FROM generate_series(1, 1000) g;
	SELECT count(*) FROM heap JOIN events USING (id);
}), '1000', 'beside a parallel plan');
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM events; DISCARD ALL; SELECT count(*) FROM events;
}), "20000\n20000", 'after DISCARD ALL');

# D11: single-user mode.
$node->stop;
my $sql = "SELECT count(*) AS answer FROM events;\n";
my $stdout = '';
IPC::Run::run([ 'postgres', '--single', '-D', $node->data_dir, 'postgres' ], '<', \$sql, '>', \$stdout,
	'2>', '/dev/null');
like($stdout, qr/= "20000"/, 'single-user mode');

done_testing();

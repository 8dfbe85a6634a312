# A ClickHouse table whose parts are merged away while it is queried: the same rows each time.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $files = $ENV{AX_TESTDATA};
my $root = PostgreSQL::Test::Utils::tempdir;
my $table = "$root/visits";
chmod 0755, $root;
mkdir $table or die;
system('cp', "$files/visits/format_version.txt", $table) == 0 or die;
system('cp', '-R', "$files/visits/$_", "$table/$_") == 0 or die
	for qw(all_1_1_0 all_2_2_0 all_3_3_0_4);

my $node = PostgreSQL::Test::Cluster->new('live');
$node->init;
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION analytics_fdw;
	CREATE FOREIGN TABLE visits () SERVER analytics_fdw
		OPTIONS (path '$table', definition '$files/visits.sql', format 'mergetree');});
my $sql = 'SELECT count(*), sum(id), count(DISTINCT kind), max(url) FROM visits';
my $want = $node->safe_psql('postgres', $sql);
like($want, qr/^\d{4,}\|/, 'there are rows');

# As a server does it: the new part appears by a rename, the old one is renamed and then removed.
my $merger = fork() // die;
if ($merger == 0)
{
	my %now = (1 => 'all_1_1_0', 2 => 'all_2_2_0', 3 => 'all_3_3_0_4');
	for (my $n = 1; -d $table && !-e "$root/stop"; $n++)
	{
		my $part = $n % 3 + 1;
		my $old = $now{$part};
		my $new = "all_${part}_${part}_$n" . ($part == 3 ? '_4' : '');
		system('cp', '-R', "$table/$old", "$table/tmp_merge_$new");
		rename("$table/tmp_merge_$new", "$table/$new") or last;
		usleep(1000) if $n % 2;
		rename("$table/$old", "$table/delete_tmp_$old") or last;
		system('rm', '-rf', "$table/delete_tmp_$old");
		$now{$part} = $new;
	}
	require POSIX;
	POSIX::_exit(0);
}

my ($asked, %other) = (0);
for (my $end = time + 10; time < $end; $asked++)
{
	my ($ret, $out, $err) = $node->psql('postgres', join(';', ($sql) x 20));
	for (split /\n/, $out) { $other{$_}++ if $_ ne $want; }
	for (split /\n/, $err) { $other{$_}++ if /ERROR/; }
}
open(my $stop, '>', "$root/stop") or die;
close $stop;
waitpid($merger, 0);
note("asked 20 x $asked times; parts now: " . join(' ', map { s{.*/}{}r } glob("$table/all_*")));
is(join("\n", map { "$other{$_} x $_" } sort keys %other), '', 'the same rows each time, and no error');
is($node->safe_psql('postgres', $sql), $want, 'also afterwards');

# A query that has given rows cannot begin again: who reads on either has the parts open, or learns
# that they are gone.
my $many = "$root/many";
mkdir $many or die;
system('cp', "$files/visits/format_version.txt", $many) == 0 or die;
system('cp', '-R', "$files/visits/all_1_1_0", "$many/all_${_}_${_}_0") == 0 or die for 1 .. 60;
$node->safe_psql('postgres', qq{
	CREATE FOREIGN TABLE many () SERVER analytics_fdw
		OPTIONS (path '$many', definition '$files/visits.sql', format 'mergetree');});
my $all = $node->safe_psql('postgres', 'SELECT count(*) FROM many');
my $gone = join(' ', map { "$many/all_${_}_${_}_0" } 1 .. 60);
my (undef, $first, $told) = $node->psql('postgres', qq{
	SET analytics_fdw.max_threads = 1;
	BEGIN;
	DECLARE c CURSOR FOR SELECT id FROM many;
	FETCH 1 FROM c;
	\\! cp -R $many/all_1_1_0 $many/all_1_60_1 && rm -rf $gone
	MOVE ALL FROM c;}, on_error_stop => 0);
like($first, qr/^\d+$/m, 'a first row');
like($told, qr/could not open.*\nDETAIL:  The part was there when the query began/,
	'a part that is gone later is an error that says so');
my $again = $node->safe_psql('postgres', 'SELECT count(*) FROM many');
is($again * 60, $all, 'the next query reads what is there');

my ($ret, $out, $err) = $node->psql('postgres', qq{
	CREATE FOREIGN TABLE none (a int) SERVER analytics_fdw OPTIONS (path '$root/none', format 'mergetree');
	SELECT * FROM none});
like($err, qr/could not open table: no such directory/, 'a table that is not there');
done_testing();

# The library gives the server its start and its SQL functions and nothing else, and stands in no
# hook where other extensions stand.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my ($dir) = PostgreSQL::Test::Utils::run_command([ 'pg_config', '--pkglibdir' ]);
my ($defined) = PostgreSQL::Test::Utils::run_command([ 'nm', '-D', '--defined-only', "$dir/analytics_fdw.so" ]);
my @names = map { (split)[-1] } split /\n/, $defined;
cmp_ok(scalar @names, '>', 10, 'symbols are read');
is(join(' ', grep { !/^(_PG_init|Pg_magic_func|(pg_finfo_)?analytics_fdw_\w+)$/ } @names),
	'', 'D12 nothing else is exported');

my ($undefined) = PostgreSQL::Test::Utils::run_command([ 'nm', '-D', '--undefined-only', "$dir/analytics_fdw.so" ]);
my @hooks = grep { /_hook$/ } map { (split)[-1] } split /\n/, $undefined;
is(join(' ', @hooks), 'get_relation_stats_hook',
	'C11 C25 D09 neither planner, executor nor utility commands are hooked');
done_testing();

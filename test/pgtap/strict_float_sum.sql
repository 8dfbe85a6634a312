-- With strict_float_sum, aggregates of floats are those of a sequential scan to the last bit; sum(real)
-- always is.
\set ECHO none
\set testdata `echo "$AX_TESTDATA"`
\set path :testdata '/decimals.parquet'
SELECT plan(4);
CREATE FOREIGN TABLE stored () SERVER analytics_fdw OPTIONS (path :'path');
CREATE TABLE heap AS SELECT * FROM stored ORDER BY id;
SET max_parallel_workers_per_gather = 0;
SET enable_sort = off;
SET extra_float_digits = 1;
SELECT results_eq('SELECT sum(f), sum(f / 3) FROM stored', 'SELECT sum(f), sum(f / 3) FROM heap');
SET analytics_fdw.strict_float_sum = on;
PREPARE ours AS SELECT sum(y), avg(y), stddev(y), var_pop(f), corr(y, f), regr_intercept(y, i4) FROM stored;
PREPARE theirs AS SELECT sum(y), avg(y), stddev(y), var_pop(f), corr(y, f), regr_intercept(y, i4) FROM heap;
SELECT results_eq('ours', 'theirs');
SELECT set_eq('SELECT g, sum(y), avg(f), stddev(y), regr_slope(y, f) FROM stored GROUP BY g',
	'SELECT g, sum(y), avg(f), stddev(y), regr_slope(y, f) FROM heap GROUP BY g');
SELECT set_eq('SELECT id % 1000, sum(y), variance(f), covar_samp(y, f) FROM stored GROUP BY 1',
	'SELECT id % 1000, sum(y), variance(f), covar_samp(y, f) FROM heap GROUP BY 1');
SELECT * FROM finish();

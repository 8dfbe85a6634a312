-- A misspelt setting of ours is an error where the server can reserve a prefix (15).
\set ECHO none
SELECT plan(1);
LOAD 'analytics_fdw';
SELECT CASE WHEN current_setting('server_version_num')::int >= 150000
	THEN throws_ok('SET analytics_fdw.nothing_like_it = 1', '42602')
	ELSE lives_ok('SET analytics_fdw.nothing_like_it = 1') END;
SELECT * FROM finish();

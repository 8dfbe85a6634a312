// Q08: node-postgres on a foreign table: parameters, named statements, portals, errors, pool. Prints TAP.
'use strict'
const pg = require('pg')
const { Client, Pool, Query } = pg

let n = 0
let bad = 0
function check (ok, name, note) {
  n++
  console.log((ok ? 'ok ' : 'not ok ') + n + ' - ' + name)
  if (!ok) {
    bad++
    console.log('# ' + JSON.stringify(note))
  }
}
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)

async function main () {
  const c = new Client()
  await c.connect()
  const read = async (sql, values, more) =>
    (await c.query(Object.assign({ text: sql, values, rowMode: 'array' }, more))).rows

  const grouped = t => `SELECT kind, count(*), sum(quantity), avg(quantity), min(ts), max(day)
    FROM ${t} WHERE id < $1 AND kind <> $2 AND day >= $3 GROUP BY kind ORDER BY kind`
  const args = [7000, 'view', '2020-01-01']
  let ours = await read(grouped('events'), args)
  let heap = await read(grouped('heap'), args)
  check(same(ours, heap) && ours.length > 1, 'parameters and types', ours)

  let equal = true
  for (let i = 0; i < 12 && equal; i++) {
    const span = [i * 300, i * 350]
    ours = await read('SELECT id, url, amount, paid FROM events WHERE id BETWEEN $1 AND $2 ORDER BY id',
      span, { name: 'ours' })
    heap = await read('SELECT id, url, amount, paid FROM heap WHERE id BETWEEN $1 AND $2 ORDER BY id',
      span, { name: 'heap' })
    equal = same(ours, heap)
  }
  check(equal && ours.length > 50, 'a named statement keeps its answers', ours.length)

  check((await read('SELECT count(*) FROM events WHERE id = ANY($1)', [[1, 2, null, 4000]]))[0][0] === '3',
    'array parameter')

  // A portal that is read 50 rows at a time.
  const portal = new Query({ text: 'SELECT id FROM events WHERE paid ORDER BY id', values: [], rows: 50, rowMode: 'array' })
  const got = []
  await new Promise((resolve, reject) => {
    portal.on('row', row => got.push(row))
    portal.on('end', resolve)
    portal.on('error', reject)
    c.query(portal)
  })
  heap = await read('SELECT id FROM heap WHERE paid ORDER BY id')
  check(same(got, heap) && got.length > 200, 'a portal, 50 rows at a time', got.length)

  let code
  try {
    await read('SELECT sum(1 / (id - $1)) FROM events', [5])
  } catch (e) {
    code = e.code
  }
  check(code === '22012', 'an error of a row', code)
  check((await read('SELECT 1 FROM events WHERE id = $1', [5])).length === 1, 'the connection goes on')

  code = undefined
  try {
    await c.query("SET statement_timeout = '300ms'")
    await read('SELECT count(*) FROM events a, events b, events c WHERE a.id + b.id + c.id = -1 AND a.url < b.url')
  } catch (e) {
    code = e.code
  }
  check(code === '57014', 'statement_timeout', code)
  await c.end()

  const pool = new Pool({ max: 4 })
  const counts = await Promise.all(Array.from({ length: 16 }, (_, i) =>
    pool.query('SELECT count(*)::int AS n FROM events WHERE id < $1', [i * 10 + 1])))
  check(counts.every((r, i) => r.rows[0].n === i * 10), '16 queries over a pool of 4',
    counts.map(r => r.rows[0].n))
  await pool.end()
  console.log('1..' + n)
  process.exit(bad ? 1 : 0)
}

main().catch(e => {
  console.log('Bail out! ' + e.stack)
  process.exit(1)
})

import java.math.BigDecimal;
import java.sql.*;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Q07: the JDBC driver on a foreign table: fetch size (portals), server-prepared statements with
 * binary transfer, metadata, errors, cancel. Prints TAP. Argument: the JDBC URL. */
public class JdbcSuite {
    static int n = 0, bad = 0;

    static void check(boolean ok, String name, Object note) {
        System.out.println((ok ? "ok " : "not ok ") + ++n + " - " + name);
        if (!ok) {
            bad++;
            System.out.println("# " + note);
        }
    }

    static List<List<Object>> rows(ResultSet r) throws SQLException {
        List<List<Object>> all = new ArrayList<>();
        int columns = r.getMetaData().getColumnCount();
        while (r.next()) {
            List<Object> row = new ArrayList<>();
            for (int i = 1; i <= columns; i++)
                row.add(r.getObject(i));
            all.add(row);
        }
        r.close();
        return all;
    }

    static List<List<Object>> read(Connection c, String sql, int fetch, Object... args)
            throws SQLException {
        try (PreparedStatement p = c.prepareStatement(sql)) {
            p.setFetchSize(fetch);
            for (int i = 0; i < args.length; i++)
                p.setObject(i + 1, args[i]);
            return rows(p.executeQuery());
        }
    }

    public static void main(String[] argv) throws Exception {
        try (Connection c = DriverManager.getConnection(argv[0])) {
            String grouped = "SELECT kind, count(*), sum(quantity), avg(quantity), min(ts), max(day),"
                + " bool_and(paid) FROM %s WHERE id < ? AND kind <> ? AND day >= ?"
                + " GROUP BY kind ORDER BY kind";
            Object[] args = {7000L, "view", Date.valueOf("2020-01-01")};
            List<List<Object>> ours = read(c, String.format(grouped, "events"), 0, args);
            List<List<Object>> heap = read(c, String.format(grouped, "heap"), 0, args);
            check(ours.equals(heap) && ours.size() > 1, "parameters and types", ours);
            check(ours.get(0).get(3) instanceof BigDecimal, "avg is numeric", ours.get(0));

            // The fifth use is prepared by the server, results become binary; more make it generic.
            boolean same = true;
            try (PreparedStatement a = c.prepareStatement(
                     "SELECT id, ts, day, customer, kind, quantity, amount, paid FROM events"
                     + " WHERE id BETWEEN ? AND ? ORDER BY id");
                 PreparedStatement b = c.prepareStatement(
                     "SELECT id, ts, day, customer, kind, quantity, amount, paid FROM heap"
                     + " WHERE id BETWEEN ? AND ? ORDER BY id")) {
                for (int i = 0; i < 14 && same; i++) {
                    for (PreparedStatement p : new PreparedStatement[] {a, b}) {
                        p.setLong(1, i * 300);
                        p.setLong(2, i * 300 + 50 * i);
                    }
                    ours = rows(a.executeQuery());
                    heap = rows(b.executeQuery());
                    same = ours.equals(heap);
                }
            }
            check(same && ours.size() > 50, "server-prepared, binary, generic plan", ours.size());

            c.setAutoCommit(false);
            for (int fetch : new int[] {1, 100, 5000}) {
                ours = read(c, "SELECT id, url FROM events WHERE paid AND id < 4000 ORDER BY id", fetch);
                heap = read(c, "SELECT id, url FROM heap WHERE paid AND id < 4000 ORDER BY id", fetch);
                check(ours.equals(heap) && ours.size() > 100, "fetch size " + fetch, ours.size());
            }
            // Two portals open at once, read in turns.
            try (Statement s = c.createStatement(); Statement t = c.createStatement()) {
                s.setFetchSize(7);
                t.setFetchSize(11);
                ResultSet a = s.executeQuery("SELECT id FROM events ORDER BY id");
                ResultSet b = t.executeQuery("SELECT id FROM events ORDER BY id DESC");
                long sum = 0, rows = 0;
                while (a.next() && b.next()) {
                    sum += a.getLong(1) + b.getLong(1);
                    rows++;
                }
                List<List<Object>> want = read(c, "SELECT 2 * sum(id), count(*) FROM heap", 0);
                check(((BigDecimal) want.get(0).get(0)).longValue() == sum
                    && (Long) want.get(0).get(1) == rows, "two portals in turns", rows);
            }
            try (Statement s = c.createStatement()) {
                s.setFetchSize(5);
                s.setMaxRows(12);
                check(rows(s.executeQuery("SELECT id FROM events")).size() == 12, "maxRows", "");
            }
            c.rollback();

            String state = "none";
            try {
                read(c, "SELECT sum(1 / (id - ?)) FROM events", 0, 5L);
            } catch (SQLException e) {
                state = e.getSQLState();
            }
            check("22012".equals(state), "an error of a row", state);
            c.rollback();
            c.setAutoCommit(true);

            try (PreparedStatement p = c.prepareStatement(
                     "SELECT count(*) FROM events WHERE id = ANY(?)")) {
                p.setArray(1, c.createArrayOf("int8", new Object[] {1L, 2L, null, 4000L}));
                ours = rows(p.executeQuery());
            }
            check(Objects.equals(ours.get(0).get(0), 3L), "array parameter", ours);

            try (Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                long begin = System.nanoTime();
                state = "none";
                try {
                    rows(s.executeQuery("SELECT count(*) FROM events a, events b, events c"
                        + " WHERE a.id + b.id + c.id = -1 AND a.url < b.url"));
                } catch (SQLException e) {
                    state = e.getSQLState();
                }
                check("57014".equals(state) && System.nanoTime() - begin < 20e9, "query timeout",
                    state);
            }

            DatabaseMetaData m = c.getMetaData();
            List<List<Object>> tables =
                rows(m.getTables(null, "public", "events", new String[] {"FOREIGN TABLE"}));
            check(tables.size() == 1, "getTables", tables);
            check(rows(m.getColumns(null, "public", "events", null)).size() == 9, "getColumns", "");
        }
        System.out.println("1.." + n);
        System.exit(bad == 0 ? 0 : 1);
    }
}

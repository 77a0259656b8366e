//! The ways in which rows are written beside a plain UPDATE and INSERT, and the names that a guard can have.

use idem_runtime::machine::{Guard, Refused};
use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{MySql, Postgres, Sqlite};

use super::{attempt, install, refused};
use crate::answers::answer;
use crate::shop::order_status::{Finish, Pay, Ship};
use crate::shop::{self, OrderStatus, history, new_order, status, text_type};
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

/// Adds the tests.
pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            an_upsert_is_judged_by_what_it_did,
            no_clause_downgrades_the_refusal,
            names_of_every_length,
            table_of_a_schema
        ]
    );
    on_engines!(suite, [Postgres, MySql], "SQLite's triggers change no new values", [trigger_that_changes_the_status]);
    on_engines!(suite, [Sqlite, MySql], "REPLACE is theirs", [replace_is_delete_and_insert]);
    on_engines!(
        suite,
        [Postgres],
        "COPY, MERGE, partitions and paths of schemas are its own",
        [copy_and_merge, moves_between_partitions, the_same_table_in_two_schemas]
    );
}

/// Installs the guard on the shop's orders: 1 is pending, 2 is paid.
async fn guarded_orders<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    shop::create_tables(db).await?;
    install::<OrderStatus, DB>(db).await?;
    new_order(db, 1).await?;
    new_order(db, 2).await?;
    db.execute("UPDATE orders SET status = 'paid' WHERE order_id = 2").await.map(drop)
}

async fn an_upsert_is_judged_by_what_it_did<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(2).await?;
    let upsert = |order_id, status| {
        let insert = format!("INSERT INTO orders (order_id, status) VALUES ({order_id}, '{status}')");
        match DB::DIALECT {
            Dialect::MySql => format!("{insert} ON DUPLICATE KEY UPDATE status = VALUES(status)"),
            Dialect::Postgres | Dialect::Sqlite => {
                format!("{insert} ON CONFLICT (order_id) DO UPDATE SET status = EXCLUDED.status")
            }
        }
    };
    ensure!(attempt(&idem, upsert(1, "paid")).await?? > 0, "a declared transition");
    ensure!(attempt(&idem, upsert(9, "pending")).await?? > 0, "a new row");
    refused::<OrderStatus, DB>(&attempt(&idem, upsert(1, "done")).await?, Refused::Transition)?;
    refused::<OrderStatus, DB>(&attempt(&idem, upsert(9, "paid")).await?, Refused::Insert)
}

/// `IGNORE` turns errors into warnings, and SQLite's `OR` clauses say what to do instead of failing.
async fn no_clause_downgrades_the_refusal<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(2).await?;
    let clauses: &[&str] = match DB::DIALECT {
        Dialect::Postgres => &[""],
        Dialect::MySql => &["", "IGNORE"],
        Dialect::Sqlite => &["", "OR IGNORE", "OR REPLACE", "OR FAIL", "OR ABORT"],
    };
    for clause in clauses {
        let update = format!("UPDATE {clause} orders SET status = 'done'");
        let insert = format!("INSERT {clause} INTO orders (order_id, status) VALUES (3, 'paid')");
        for (sql, what) in [(update, Refused::Transition), (insert, Refused::Insert)] {
            let done = attempt(&idem, sql.clone()).await?;
            refused::<OrderStatus, DB>(&done, what).map_err(|error| format!("{sql}: {error}"))?;
            ensure!(db.execute(sql).await.is_err(), "nor is it kept");
        }
    }
    let found = db.rows("SELECT order_id, status FROM orders ORDER BY order_id").await?;
    ensure!(found == [["1", "pending"], ["2", "paid"]], "{found:?}");
    Ok(())
}

/// A trigger of the user's own that comes last, by its name and by when it was made.
async fn trigger_that_changes_the_status<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(2).await?;
    db.execute(match DB::DIALECT {
        Dialect::MySql => "CREATE TRIGGER zz BEFORE UPDATE ON orders FOR EACH ROW SET NEW.status = NEW.carrier",
        Dialect::Postgres | Dialect::Sqlite => {
            "CREATE FUNCTION zz() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN NEW.status := NEW.carrier; RETURN NEW; END $$;
             CREATE TRIGGER zz BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION zz()"
        }
    })
    .await?;
    let update = |carrier| format!("UPDATE orders SET carrier = '{carrier}' WHERE order_id = 1");
    refused::<OrderStatus, DB>(&attempt(&idem, update("done")).await?, Refused::Transition)?;
    ensure!(attempt(&idem, update("paid")).await?? == 1, "a declared transition");
    Ok(())
}

/// No UPDATE happens: all that the guard sees is a new row.
async fn replace_is_delete_and_insert<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(2).await?;
    let replace = |status| format!("REPLACE INTO orders (order_id, status) VALUES (2, '{status}')");
    refused::<OrderStatus, DB>(&attempt(&idem, replace("shipped")).await?, Refused::Insert)?;
    ensure!(attempt(&idem, replace("pending")).await?? > 0, "begins again, which the guard cannot know");
    Ok(())
}

async fn copy_and_merge<DB: Engine>(db: TestDb<DB>) -> TestResult {
    guarded_orders(&db).await?;
    let idem = db.idem(2).await?;
    let copied = |status| copy(db.url().to_owned(), status);
    let error = copied("paid").await.expect_err("the guard sees what is copied");
    refused::<OrderStatus, DB>(&Err(error), Refused::Insert)?;
    ensure!(copied("pending").await? == 1, "a new row");
    let merge = |order_id, status| {
        format!(
            "MERGE INTO orders USING (VALUES ({order_id}, '{status}')) AS new (id, status) ON order_id = new.id
             WHEN MATCHED THEN UPDATE SET status = new.status
             WHEN NOT MATCHED THEN INSERT (order_id, status) VALUES (new.id, new.status)"
        )
    };
    refused::<OrderStatus, DB>(&attempt(&idem, merge(1, "done")).await?, Refused::Transition)?;
    refused::<OrderStatus, DB>(&attempt(&idem, merge(9, "done")).await?, Refused::Insert)?;
    ensure!(attempt(&idem, merge(1, "paid")).await?? == 1, "a declared transition");
    Ok(())
}

/// Copies one order into the table.
async fn copy(url: String, status: &str) -> Result<u64, sqlx::Error> {
    use sqlx::Connection as _;
    let mut connection = sqlx::PgConnection::connect(&url).await?;
    let mut copy = connection.copy_in_raw("COPY orders (order_id, status) FROM STDIN").await?;
    copy.send(format!("7\t{status}\n").into_bytes()).await?;
    copy.finish().await
}

/// A move fires no UPDATE on the partition that the row comes to.
async fn moves_between_partitions<DB: Engine>(db: TestDb<DB>) -> TestResult {
    db.execute(
        "CREATE TABLE orders (order_id BIGINT NOT NULL, status TEXT NOT NULL DEFAULT 'pending',
           version BIGINT NOT NULL DEFAULT 0, paid_at TIMESTAMPTZ, trade_no TEXT, carrier TEXT, shard BIGINT DEFAULT 0,
           PRIMARY KEY (order_id, status)) PARTITION BY LIST (status);
         CREATE TABLE orders_open PARTITION OF orders FOR VALUES IN ('pending', 'paid');
         CREATE TABLE orders_other PARTITION OF orders DEFAULT",
    )
    .await?;
    db.execute(schema::history::<OrderStatus>(DB::DIALECT).ok_or("a history")?).await?;
    install::<OrderStatus, DB>(&db).await?;
    let idem = db.idem(2).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Installed, "on the parent");
    for order_id in 1..=4 {
        new_order(&db, order_id).await?;
    }
    let order = OrderStatus::row;
    answer!(order(1).fire(Pay { trade_no: "T".to_owned() }).cause("T").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(order(1).fire(Ship { carrier: "sf".to_owned() }).run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(order(1).fire(Finish).run(&idem).await, Ok(Outcome::Applied(_)));
    let found = (status(&db, 1).await?, history(&db, 1).await?);
    let entries = "1 pending paid pay T\n2 paid shipped ship NULL\n3 shipped done finish NULL";
    ensure!(found == ("done 3".into(), entries.into()), "{found:?}");

    // Several rows at once, which leave and come in turn, and one that stays where it is.
    let away =
        "UPDATE orders SET status = CASE order_id WHEN 2 THEN 'paid' ELSE 'cancelled' END WHERE order_id IN (2, 3)";
    ensure!(attempt(&idem, away.to_owned()).await?? == 2, "declared");
    for (table, target) in [("orders", "shipped"), ("orders", "lost"), ("orders", "done"), ("orders_open", "paid ")] {
        let done = attempt(&idem, format!("UPDATE {table} SET status = '{target}' WHERE order_id IN (3, 4)")).await?;
        if table == "orders" {
            refused::<OrderStatus, DB>(&done, Refused::Transition).map_err(|error| format!("{target}: {error}"))?;
        } else {
            ensure!(done.is_err(), "the partition's own bounds");
        }
    }
    for table in ["orders", "orders_open"] {
        let insert = format!("INSERT INTO {table} (order_id, status) VALUES (9, 'paid')");
        refused::<OrderStatus, DB>(&attempt(&idem, insert).await?, Refused::Insert)?;
    }
    let insert = "INSERT INTO orders_other (order_id, status) VALUES (9, 'shipped')".to_owned();
    refused::<OrderStatus, DB>(&attempt(&idem, insert).await?, Refused::Insert)?;

    // What a row was is forgotten with the move, and with its transaction.
    db.execute("UPDATE orders SET status = 'paid' WHERE order_id = 4").await?;
    let after = "UPDATE orders SET status = 'shipped' WHERE order_id = 4; \
                 INSERT INTO orders (order_id, status) VALUES (4, 'refunded')";
    refused::<OrderStatus, DB>(&attempt(&idem, after.to_owned()).await?, Refused::Insert)?;
    db.execute("DELETE FROM orders WHERE order_id = 4").await?;
    let insert = "INSERT INTO orders (order_id, status) VALUES (4, 'refunded')".to_owned();
    refused::<OrderStatus, DB>(&attempt(&idem, insert).await?, Refused::Insert)
}

/// Two tables of one name, each with its guard: what is done to the one leaves the other's alone.
async fn the_same_table_in_two_schemas<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    install::<OrderStatus, DB>(&db).await?;
    let idem = db.idem(1).await?;
    db.execute("CREATE SCHEMA tenant; SET search_path = tenant, public").await?;
    db.execute("CREATE TABLE tenant.orders (order_id BIGINT, status TEXT)").await?;
    install::<OrderStatus, DB>(&db).await?;
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Installed, "the first one's");
    let insert = |schema| format!("INSERT INTO {schema}.orders (order_id, status) VALUES (1, 'paid')");
    refused::<OrderStatus, DB>(&attempt(&idem, insert("tenant")).await?, Refused::Insert)?;
    db.execute(schema::guard_removal::<OrderStatus>(DB::DIALECT)).await?;
    ensure!(attempt(&idem, insert("tenant")).await?? == 1, "removed");
    // Again, the path leads to the other schema's function, which is in use.
    ensure!(db.execute(schema::guard_removal::<OrderStatus>(DB::DIALECT)).await.is_err(), "nothing to remove");
    ensure!(idem.guard::<OrderStatus>().await? == Guard::Installed, "the first one's");
    refused::<OrderStatus, DB>(&attempt(&idem, insert("public")).await?, Refused::Insert)
}

/// Two names that are one in their first 48 bytes.
mod long {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(
        table = "the_orders_of_all_the_customers_of_this_shop_and_of_others_1",
        status = "what_has_become_of_it",
        id(id: i64),
        rename_all = "snake_case"
    )]
    #[transition(close: Open => Closed)]
    pub(super) enum First {
        #[state(initial)]
        Open,
        #[state(terminal)]
        Closed,
    }

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(
        table = "the_orders_of_all_the_customers_of_this_shop_and_of_others_2",
        status = "what_has_become_of_it",
        id(id: i64),
        rename_all = "snake_case"
    )]
    #[transition(reopen: Closed => Open)]
    pub(super) enum Second {
        #[state(initial)]
        Closed,
        #[state(terminal)]
        Open,
    }

    /// Its name holds what both kinds of quotes have to escape.
    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "it's \"a\" 表", status = "st`at\"us'", id(id: i64), rename_all = "snake_case")]
    #[transition(close: Open => Closed)]
    pub(super) enum Quoted {
        #[state(initial)]
        Open,
        #[state(terminal)]
        Closed,
    }
}

async fn names_of_every_length<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let quote = |name: &str| match DB::DIALECT {
        Dialect::MySql => format!("`{}`", name.replace('`', "``")),
        Dialect::Postgres | Dialect::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    let text = text_type(DB::DIALECT);
    let tables = [
        (long::First::TABLE, "what_has_become_of_it"),
        (long::Second::TABLE, "what_has_become_of_it"),
        (long::Quoted::TABLE, "st`at\"us'"),
    ];
    for (table, column) in tables {
        let (table, column) = (quote(table), quote(column));
        db.execute(format!("CREATE TABLE {table} (id BIGINT PRIMARY KEY, {column} {text}, version BIGINT)")).await?;
    }
    install::<long::First, DB>(&db).await?;
    ensure!(idem.guard::<long::Second>().await? == Guard::Missing, "another table's");
    install::<long::Second, DB>(&db).await?;
    install::<long::Quoted, DB>(&db).await?;
    ensure!(idem.guard::<long::First>().await? == Guard::Installed, "the first");
    ensure!(idem.guard::<long::Second>().await? == Guard::Installed, "the second");
    ensure!(idem.guard::<long::Quoted>().await? == Guard::Installed, "the third");
    let insert = |at: usize, status: &str| {
        let (table, column) = (quote(tables[at].0), quote(tables[at].1));
        format!("INSERT INTO {table} (id, {column}, version) VALUES (1, '{status}', 0)")
    };
    refused::<long::First, DB>(&attempt(&idem, insert(0, "closed")).await?, Refused::Insert)?;
    refused::<long::Second, DB>(&attempt(&idem, insert(1, "open")).await?, Refused::Insert)?;
    refused::<long::Quoted, DB>(&attempt(&idem, insert(2, "closed")).await?, Refused::Insert)?;
    db.execute(insert(2, "open")).await?;
    let fired = long::Quoted::row(1).fire(long::quoted::Close).run(&idem).await;
    answer!(fired, Ok(Outcome::Applied(row)) if row.version() == 1);
    Ok(())
}

/// A machine whose table is named with its schema, which on MySQL is a database and on SQLite an attached file.
mod elsewhere {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "Idem_guard.order", id(id: i64), history = "Idem_guard.log", rename_all = "snake_case")]
    #[transition(close: Open => Closed)]
    pub(super) enum Order {
        #[state(initial)]
        Open,
        #[state(terminal)]
        Closed,
    }
}

async fn table_of_a_schema<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let run = async |sql: String| DB::execute(idem.pool(), sql).await;
    match DB::DIALECT {
        Dialect::Postgres => run("CREATE SCHEMA \"Idem_guard\"".to_owned()).await?,
        Dialect::MySql => run("DROP DATABASE IF EXISTS `Idem_guard`; CREATE DATABASE `Idem_guard`".to_owned()).await?,
        Dialect::Sqlite => run("ATTACH ':memory:' AS \"Idem_guard\"".to_owned()).await?,
    };
    let table = if DB::DIALECT == Dialect::MySql { "`Idem_guard`.`order`" } else { "\"Idem_guard\".\"order\"" };
    let columns = schema::columns::<elsewhere::Order>(DB::DIALECT);
    run(format!("CREATE TABLE {table} (id BIGINT PRIMARY KEY, {columns})")).await?;
    run(schema::history::<elsewhere::Order>(DB::DIALECT).ok_or("a history")?.to_owned()).await?;
    for _ in 0..2 {
        run(schema::guard::<elsewhere::Order>(DB::DIALECT).to_owned()).await?;
        ensure!(idem.guard::<elsewhere::Order>().await? == Guard::Installed, "there");
    }
    run(format!("INSERT INTO {table} (id) VALUES (1)")).await?;
    let order = || elsewhere::Order::row(1);
    answer!(order().fire(elsewhere::order::Close).run(&idem).await, Ok(Outcome::Applied(_)));
    let back = attempt(&idem, format!("UPDATE {table} SET status = 'open'")).await?;
    refused::<elsewhere::Order, DB>(&back, Refused::Transition)?;
    let mut tx = idem.begin().await?;
    answer!(order().repair(elsewhere::Order::Open, "T1").run(&mut tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    tx.commit().await?;
    run(schema::guard_removal::<elsewhere::Order>(DB::DIALECT).to_owned()).await?;
    ensure!(idem.guard::<elsewhere::Order>().await? == Guard::Missing, "removed");
    if DB::DIALECT == Dialect::MySql {
        run("DROP DATABASE `Idem_guard`".to_owned()).await?;
    }
    Ok(())
}

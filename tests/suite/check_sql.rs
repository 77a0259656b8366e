//! `check_sql`: nothing is found where nothing is wrong, and each fault is found once and by its name.

use idem_runtime::check::Report;
use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{MySql, Postgres, Sqlite};

use crate::creation::Cart;
use crate::machines::{Coupon, Lamp, Parcel, Review, Word};
use crate::shop::OrderStatus;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};
use crate::upgrades::former;
use crate::values::{Invoice, Lift, Seal, Sign};
use crate::{creation, machines, shop, values};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            nothing_is_wrong_with_tables_of_the_schema,
            what_does_not_exist_is_named,
            former_tables_are_told_from_present_ones,
            columns_that_may_be_null,
            i69_indexes_that_make_causes_worthless,
            rules_without_their_index,
            values_that_are_no_state,
            a_check_changes_nothing,
        ]
    );
    on_engines!(suite, [Postgres], "only there a statement has types", [fields_of_another_type]);
    on_engines!(suite, [Postgres, MySql], "SQLite holds any value in any column", [columns_too_small_for_a_state]);
    on_engines!(suite, [MySql], "the others have no such type", [causes_that_a_collation_folds]);
    on_engines!(suite, [Sqlite], "its collations are a column's", [causes_that_a_column_folds]);
}

/// What a report says, a finding a line.
fn found(report: &Report) -> Vec<String> {
    report.findings().iter().map(ToString::to_string).collect()
}

/// Fails unless a report finds exactly that.
macro_rules! finds {
    ($report:expr, $expected:expr) => {
        let report = $report;
        let expected: Vec<String> = $expected.into_iter().map(String::from).collect();
        ensure!(found(&report) == expected, "line {}: found {:#?}\n expected {expected:#?}", line!(), found(&report));
    };
}

async fn nothing_is_wrong_with_tables_of_the_schema<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    values::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let machines = idem.check_sql::<OrderStatus>().and::<Coupon>().and::<Review>().and::<Lamp>().and::<Word>();
    let report = machines.and::<Parcel>().and::<Lift>().and::<Invoice>().and::<Sign>().and::<Seal>().await?;
    report.clone().into_result()?;
    let unchecked: Vec<_> = report.unchecked().iter().map(ToString::to_string).collect();
    let custom = "Parcel, event mark, field label: whether its column takes `Label`";
    ensure!(unchecked.iter().any(|it| it == custom), "{unchecked:#?}");
    let standard = "OrderStatus, event pay, field trade_no: whether its column takes `String`";
    let only_postgres_tells = unchecked.iter().any(|it| it == standard) == (DB::DIALECT != Dialect::Postgres);
    ensure!(only_postgres_tells, "{unchecked:#?}");
    Ok(())
}

async fn what_does_not_exist_is_named<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = Idem::builder(db.pool(1)?).build().await?;
    finds!(
        idem.check_sql::<OrderStatus>().await?,
        [
            "records: table `idem_record`, made by `Idem::migrate`, does not exist",
            "records: table `idem_audit`, made by `Idem::migrate`, does not exist",
            "records: table `idem_token`, made by `Idem::migrate`, does not exist",
            "records: table `idem_lease`, made by `Idem::migrate`, does not exist",
            "OrderStatus: table `orders` does not exist",
        ]
    );
    idem.migrate().await?;
    shop::create_tables(&db).await?;
    idem.check_sql::<OrderStatus>().await?.into_result()?;

    db.execute("ALTER TABLE orders RENAME COLUMN trade_no TO trade_number").await?;
    db.execute("ALTER TABLE orders RENAME COLUMN paid_at TO paid").await?;
    db.execute("ALTER TABLE orders_history RENAME COLUMN fingerprint TO print").await?;
    let report = idem.check_sql::<OrderStatus>().await?;
    finds!(
        report.clone(),
        [
            "OrderStatus, event pay, set paid_at: column `paid_at` of `orders` does not exist",
            "OrderStatus, event pay, field trade_no: column `trade_no` of `orders` does not exist",
            "OrderStatus, history: column `fingerprint` of `orders_history` does not exist",
        ]
    );
    let text = report.into_result().expect_err("it has findings").to_string();
    ensure!(text.contains("not checked: OrderStatus: its statements were not prepared"), "{text}");

    db.execute("DROP TABLE orders_history").await?;
    db.execute("ALTER TABLE orders RENAME COLUMN version TO revision").await?;
    db.execute("ALTER TABLE orders RENAME COLUMN status TO state").await?;
    db.execute("ALTER TABLE orders RENAME COLUMN trade_number TO trade_no").await?;
    db.execute("ALTER TABLE orders RENAME COLUMN paid TO paid_at").await?;
    finds!(
        idem.check_sql::<OrderStatus>().await?,
        [
            "OrderStatus, status column `status`: column `status` of `orders` does not exist",
            "OrderStatus, version column `version`: column `version` of `orders` does not exist",
            "OrderStatus, history: table `orders_history`, made by the text of `schema::history`, does not exist",
        ]
    );
    Ok(())
}

/// The first statement that needs what they have not would say so otherwise, to the one who calls.
async fn former_tables_are_told_from_present_ones<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    idem.check_sql::<OrderStatus>().await?.into_result()?;
    let lifetimes = ["result_type", "result_until", "key_until"];
    let leases = ["attempt", "lease_until", "begun", "updated_at", "begun_writes"];
    for text in former::<DB>() {
        db.execute("DROP TABLE idem_record; DROP TABLE idem_audit").await?;
        db.execute(text).await?;
        let report = idem.check_sql::<OrderStatus>().await?;
        let missing = lifetimes.into_iter().chain(leases).filter(|it| !text.contains(it));
        let column =
            |name| format!("records: column `{name}` of `idem_record`, made by `Idem::migrate`, does not exist");
        let audit = "records: table `idem_audit`, made by `Idem::migrate`, does not exist".to_owned();
        let audit = (!text.contains("idem_audit")).then_some(audit);
        finds!(report.clone(), missing.map(column).chain(audit));
        ensure!(report.to_string().contains("not checked: records: their statements were not prepared"), "{report}");
        idem.migrate().await?;
        idem.check_sql::<OrderStatus>().await?.into_result()?;
    }
    db.execute("ALTER TABLE idem_audit DROP COLUMN reason").await?;
    finds!(
        idem.check_sql::<OrderStatus>().await?,
        ["records: column `reason` of `idem_audit`, made by `Idem::migrate`, does not exist"]
    );
    Ok(())
}

/// The shop's table with other definitions.
async fn orders<DB: Engine>(db: &TestDb<DB>, id: &str, status: &str, version: &str) -> TestResult {
    let text = shop::text_type(DB::DIALECT);
    let time = if DB::DIALECT == Dialect::Postgres { "TIMESTAMPTZ" } else { "VARCHAR(40)" };
    db.execute("DROP TABLE IF EXISTS orders").await?;
    db.execute(format!(
        "CREATE TABLE orders (order_id {id}, status {status}, version {version}, paid_at {time}, trade_no {text}, carrier {text})"
    ))
    .await?;
    Ok(())
}

const ID: &str = "BIGINT NOT NULL PRIMARY KEY";
const VERSION: &str = "BIGINT NOT NULL DEFAULT 0";

async fn columns_that_may_be_null<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    orders(&db, "BIGINT NOT NULL", shop::text_type(DB::DIALECT), "BIGINT DEFAULT 0").await?;
    finds!(
        idem.check_sql::<OrderStatus>().await?,
        [
            "OrderStatus, status column `status`: it can be NULL, which is no state",
            "OrderStatus, version column `version`: it can be NULL, which never rises",
            "OrderStatus, id: `orders` has no unique index on (order_id): an event would move several rows",
        ]
    );
    Ok(())
}

/// Without them the second entry of a cause is written like the first.
async fn i69_indexes_that_make_causes_worthless<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    for (machine, text) in [
        ("orders_history", schema::history::<OrderStatus>(DB::DIALECT)),
        ("coupons_history", schema::history::<Coupon>(DB::DIALECT)),
    ] {
        let text = text.ok_or("it keeps a history")?;
        let lines = text.lines().filter(|line| !line.contains("UNIQUE (") && !line.contains("PRIMARY KEY ("));
        let text = lines.collect::<Vec<_>>().join("\n").replace("NOT NULL,\n)", "NOT NULL\n)");
        db.execute(format!("DROP TABLE {machine}")).await?;
        db.execute(text).await?;
    }
    // An index for some rows only does not count, where there is such a thing.
    if DB::DIALECT != Dialect::MySql {
        let columns = "orders_history (order_id, event, cause) WHERE version > 1";
        db.execute(format!("CREATE UNIQUE INDEX some_causes ON {columns}")).await?;
    }
    finds!(
        idem.check_sql::<OrderStatus>().and::<Coupon>().await?,
        [
            "OrderStatus, history: `orders_history` has no unique index on (order_id, version): two entries could be of one version",
            "OrderStatus, history: `orders_history` has no unique index on (order_id, event, cause): a cause that comes again would move the row again",
            "Coupon, history: `coupons_history` has no unique index on (tenant_id, code, version): two entries could be of one version",
            "Coupon, history: `coupons_history` has no unique index on (event, cause): a cause that comes again would move the row again",
        ]
    );
    for columns in [
        "orders_history (order_id, version)",
        "orders_history (cause, event, order_id)",
        "coupons_history (tenant_id, code, version)",
        "coupons_history (event, cause)",
    ] {
        let name: String = columns.chars().filter(char::is_ascii_alphanumeric).collect();
        db.execute(format!("CREATE UNIQUE INDEX {name} ON {columns}")).await?;
    }
    idem.check_sql::<OrderStatus>().and::<Coupon>().await?.into_result()?;
    Ok(())
}

async fn rules_without_their_index<DB: Engine>(db: TestDb<DB>) -> TestResult {
    creation::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    idem.check_sql::<Cart>().await?.into_result()?;
    let (on_carts, on_history, created) = match DB::DIALECT {
        Dialect::MySql => (" ON carts", " ON carts_history", "create_cause"),
        Dialect::Postgres | Dialect::Sqlite => ("", "", "carts_history_create"),
    };
    db.execute(format!("DROP INDEX carts_one_open{on_carts}")).await?;
    db.execute(format!("DROP INDEX {created}{on_history}")).await?;
    finds!(
        idem.check_sql::<Cart>().await?,
        [
            "Cart, unique_while one_open: `carts` has no unique index `carts_one_open`: the rule does not hold",
            "Cart, create: `carts_history` has no unique index `carts_history_create`: a cause would create two rows",
        ]
    );
    db.execute("ALTER TABLE carts RENAME COLUMN via TO by_way_of").await?;
    let report = idem.check_sql::<Cart>().await?;
    let found = found(&report);
    ensure!(found[0] == "Cart, create, set via: column `via` of `carts` does not exist", "{found:#?}");
    Ok(())
}

async fn values_that_are_no_state<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    db.execute("INSERT INTO orders (order_id, status) VALUES (1, 'paid'), (2, 'Paid'), (3, 'x'), (4, 'x')").await?;
    finds!(
        idem.check_sql::<OrderStatus>().await?,
        [
            "OrderStatus, status column `status`: 1 rows hold \"Paid\", which is no state",
            "OrderStatus, status column `status`: 2 rows hold \"x\", which is no state",
        ]
    );
    Ok(())
}

async fn a_check_changes_nothing<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    shop::new_order(&db, 1).await?;
    let counted = async |table: &str| db.integer(format!("SELECT COUNT(*) FROM {table}")).await;
    let before = [counted("orders").await?, counted("orders_history").await?, counted("idem_record").await?];
    idem.check_sql::<OrderStatus>().await?.into_result()?;
    let after = [counted("orders").await?, counted("orders_history").await?, counted("idem_record").await?];
    ensure!(before == after && shop::status(&db, 1).await? == "pending 0", "{before:?}, {after:?}");
    Ok(())
}

async fn fields_of_another_type<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    machines::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    db.execute("ALTER TABLE orders ALTER COLUMN trade_no TYPE BIGINT USING NULL").await?;
    db.execute("ALTER TABLE coupons ALTER COLUMN tenant_id TYPE TEXT").await?;
    let report = idem.check_sql::<OrderStatus>().and::<Coupon>().await?;
    let found = found(&report);
    let first =
        "OrderStatus, event pay, field trade_no: column \"trade_no\" is of type bigint but expression is of type text";
    ensure!(found[0] == first && !found[1].starts_with("OrderStatus"), "{found:#?}");
    ensure!(found[1].starts_with("Coupon, statement load: operator does not exist: text = bigint"), "{found:#?}");

    // It prepares, and what it then reads is no text.
    db.execute("ALTER TABLE orders ALTER COLUMN trade_no TYPE TEXT").await?;
    db.execute("CREATE TYPE stage AS ENUM ('pending', 'paid', 'shipped', 'done', 'cancelled', 'refunded')").await?;
    retype(&db, "orders", "stage").await?;
    let report = idem.check_sql::<OrderStatus>().await?;
    let wrong = report.findings().first().ok_or("a text is no enum")?.to_string();
    ensure!(wrong.ends_with("its type is stage, an enum type: write `repr = native(\"stage\")`"), "{report}");
    Ok(())
}

async fn columns_too_small_for_a_state<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    values::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let text = if DB::DIALECT == Dialect::MySql { "varchar(8)" } else { "character varying(8)" };
    orders(&db, ID, "VARCHAR(8) NOT NULL", VERSION).await?;
    finds!(
        idem.check_sql::<OrderStatus>().await?,
        [format!("OrderStatus, status column `status`: its type, {text}, cannot hold the state \"cancelled\"")]
    );
    orders(&db, ID, "BIGINT NOT NULL", "TEXT").await?;
    let report = idem.check_sql::<OrderStatus>().await?;
    let found = found(&report);
    ensure!(found[0].contains("its type is bigint") && found[0].ends_with("and the machine stores text"), "{found:#?}");
    ensure!(found[1] == "OrderStatus, version column `version`: its type is text, and it counts", "{found:#?}");

    // An enum type without one of the states.
    let labels = "('draft', 'sketch', 'sent', 'reminded', 'settled')";
    if DB::DIALECT == Dialect::MySql {
        db.execute(format!("ALTER TABLE invoices MODIFY status ENUM {labels} NOT NULL")).await?;
    } else {
        db.execute(format!("CREATE TYPE few AS ENUM {labels}")).await?;
        retype(&db, "invoices", "few").await?;
    }
    let report = idem.check_sql::<Invoice>().await?;
    let wrong = report.findings().first().ok_or("a label is missing")?.to_string();
    ensure!(wrong.ends_with("cannot hold the state \"作废\""), "{report}");

    // The top floor is 40000.
    let alter = match DB::DIALECT {
        Dialect::MySql => "ALTER TABLE lifts MODIFY floor SMALLINT NOT NULL",
        Dialect::Postgres | Dialect::Sqlite => "ALTER TABLE lifts ALTER COLUMN floor TYPE SMALLINT",
    };
    db.execute(alter).await?;
    let report = idem.check_sql::<Lift>().await?;
    let wrong = report.findings().first().ok_or("40000 does not fit")?.to_string();
    ensure!(wrong.contains("smallint") && wrong.ends_with("cannot hold the state \"40000\""), "{report}");
    Ok(())
}

/// Gives a status column another type, with the values that it holds (PostgreSQL).
async fn retype<DB: Engine>(db: &TestDb<DB>, table: &str, ty: &str) -> TestResult {
    let alter = format!("ALTER TABLE {table} ALTER COLUMN status DROP DEFAULT, ALTER COLUMN status TYPE {ty}");
    db.execute(format!("{alter} USING status::text::{ty}")).await.map(drop)
}

async fn causes_that_a_collation_folds<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    db.execute("ALTER TABLE orders_history MODIFY cause VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin").await?;
    finds!(
        idem.check_sql::<OrderStatus>().await?,
        [
            "OrderStatus, history: `cause` (varchar(64)) does not compare as bytes: two causes could be one",
            "OrderStatus, history: `cause` (varchar(64)) does not hold 512 bytes",
        ]
    );
    Ok(())
}

async fn causes_that_a_column_folds<DB: Engine>(db: TestDb<DB>) -> TestResult {
    shop::create_tables(&db).await?;
    let idem = db.idem(1).await?;
    let text = schema::history::<OrderStatus>(DB::DIALECT).ok_or("orders keep a history")?;
    db.execute("DROP TABLE orders_history").await?;
    db.execute(text.replace("cause TEXT", "cause TEXT COLLATE NOCASE")).await?;
    finds!(
        idem.check_sql::<OrderStatus>().await?,
        ["OrderStatus, history: `cause` (text) does not compare as bytes: two causes could be one"]
    );
    Ok(())
}

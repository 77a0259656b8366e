mod binds;
mod create;

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;
use quote::quote;

use super::{PerDialect, Statement};
use crate::machine::model::Model;

fn orders(history: &TokenStream) -> Model {
    crate::machine::model_of(quote! {
        #[machine(table = "orders", id(order_id: i64), rename_all = "snake_case", #history)]
        #[transition(pay: Pending => Paid, set(paid_at = now, trade_no: String))]
        #[transition(ship: Paid => Shipped)]
        #[transition(refund: Paid | Shipped => Refunded)]
        enum OrderStatus {
            #[state(initial)]
            Pending,
            Paid,
            Shipped,
            #[state(terminal)]
            Refunded,
        }
    })
}

/// A machine whose every name has to be quoted or renamed.
fn awkward() -> Model {
    crate::machine::model_of(quote! {
        #[machine(table = "Shop.order", id(tenant: i64, r#type: Uuid), status = "State", version = "rev",
                  history = "Shop.order_log")]
        #[transition(leave: Here | There => Gone, set(key: i64, note = "it's", tries = 0, open = false, by = null))]
        #[transition(go: Here => There)]
        enum Order {
            #[state(initial, rename = "l'été")]
            Here,
            There,
            #[state(terminal)]
            Gone,
        }
    })
}

fn show(statement: &Statement) -> String {
    format!("-- {:?}\n{}\n", statement.binds, statement.sql)
}

fn check(statements: &[&Statement], expected: &Expect) {
    let texts: Vec<_> = statements.iter().map(|statement| show(statement)).collect();
    expected.assert_eq(&texts.join("\n"));
}

fn event(model: &Model, name: &str) -> super::EventSql {
    let event = model.events.iter().find(|event| event.name() == name);
    super::event(model, event.expect("the machine has the event"))
}

fn all(sql: &super::EventSql) -> Vec<&Statement> {
    let PerDialect { postgres, mysql, sqlite } = &sql.fire_at;
    let entries = [sql.enter_at.mysql.as_ref(), Some(mysql), sql.enter_at.sqlite.as_ref(), Some(sqlite)];
    [Some(postgres)].into_iter().chain(entries).flatten().collect()
}

#[test]
fn fire_with_a_history() {
    let sql = event(&orders(&quote!(history)), "pay");
    check(
        &[&sql.fire.postgres],
        &expect![[r#"
            -- [Fields, Id, Cause, Fingerprint, Note]
            WITH caused AS MATERIALIZED (
              SELECT version, fingerprint, 1 AS here
                FROM orders_history
               WHERE order_id = $2 AND event = 'pay' AND cause = $3::text
            ), moved AS (
              UPDATE orders
                 SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = version + 1
               WHERE order_id = $2 AND status = 'pending' AND NOT EXISTS (SELECT FROM caused)
              RETURNING order_id, version
            ), entered AS (
              INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
              SELECT order_id, version, 'pending', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
                FROM moved
            )
            SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
              FROM (SELECT 1) AS one
              LEFT JOIN orders AS seen ON seen.order_id = $2
              LEFT JOIN caused ON TRUE
              LEFT JOIN moved ON TRUE
        "#]],
    );
    check(
        &[sql.enter.mysql.as_ref().unwrap(), &sql.fire.mysql],
        &expect![[r#"
            -- [Cause, Fingerprint, Note, Id]
            INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
            SELECT order_id, version + 1, status, 'paid', 'pay', ?, ?, NOW(6)
              FROM orders
             WHERE order_id = ? AND status = 'pending'
               FOR UPDATE

            -- [Fields, Id]
            UPDATE orders
               SET status = 'paid', paid_at = NOW(6), trade_no = ?, version = LAST_INSERT_ID(version + 1)
             WHERE order_id = ? AND status = 'pending'
        "#]],
    );
    check(
        &[sql.enter.sqlite.as_ref().unwrap(), &sql.fire.sqlite],
        &expect![[r#"
            -- [Cause, Fingerprint, Note, Id]
            INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
            SELECT order_id, version + 1, status, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
              FROM orders
             WHERE order_id = ?3 AND status = 'pending'

            -- [Fields, Id]
            UPDATE orders
               SET status = 'paid', paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), trade_no = ?1, version = version + 1
             WHERE order_id = ?2 AND status = 'pending'
            RETURNING version AS applied
        "#]],
    );
    assert!(sql.enter.postgres.is_none());
}

#[test]
fn fire_at_a_version() {
    check(
        &all(&event(&orders(&quote!(history)), "pay")),
        &expect![[r#"
            -- [Fields, Id, Cause, Fingerprint, Note, Version]
            WITH caused AS MATERIALIZED (
              SELECT version, fingerprint, 1 AS here
                FROM orders_history
               WHERE order_id = $2 AND event = 'pay' AND cause = $3::text
            ), moved AS (
              UPDATE orders
                 SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = version + 1
               WHERE order_id = $2 AND status = 'pending' AND version = $5 AND NOT EXISTS (SELECT FROM caused)
              RETURNING order_id, version
            ), entered AS (
              INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
              SELECT order_id, version, 'pending', 'paid', 'pay', $3::text, $4::text, clock_timestamp()
                FROM moved
            )
            SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
              FROM (SELECT 1) AS one
              LEFT JOIN orders AS seen ON seen.order_id = $2
              LEFT JOIN caused ON TRUE
              LEFT JOIN moved ON TRUE

            -- [Cause, Fingerprint, Note, Id, Version]
            INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
            SELECT order_id, version + 1, status, 'paid', 'pay', ?, ?, NOW(6)
              FROM orders
             WHERE order_id = ? AND status = 'pending' AND version = ?
               FOR UPDATE

            -- [Fields, Id, Version]
            UPDATE orders
               SET status = 'paid', paid_at = NOW(6), trade_no = ?, version = LAST_INSERT_ID(version + 1)
             WHERE order_id = ? AND status = 'pending' AND version = ?

            -- [Cause, Fingerprint, Note, Id, Version]
            INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
            SELECT order_id, version + 1, status, 'paid', 'pay', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
              FROM orders
             WHERE order_id = ?3 AND status = 'pending' AND version = ?4

            -- [Fields, Id, Version]
            UPDATE orders
               SET status = 'paid', paid_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), trade_no = ?1, version = version + 1
             WHERE order_id = ?2 AND status = 'pending' AND version = ?3
            RETURNING version AS applied
        "#]],
    );
}

#[test]
fn fire_from_several_sources() {
    check(
        &all(&event(&orders(&quote!(history)), "refund")),
        &expect![[r#"
            -- [Fields, Id, Cause, Fingerprint, Note, Version]
            WITH caused AS MATERIALIZED (
              SELECT version, fingerprint, 1 AS here
                FROM orders_history
               WHERE order_id = $1 AND event = 'refund' AND cause = $2::text
            ), locked AS MATERIALIZED (
              SELECT order_id, status AS source
                FROM orders
               WHERE order_id = $1 AND status IN ('paid', 'shipped') AND version = $4 AND NOT EXISTS (SELECT FROM caused)
                 FOR UPDATE
            ), moved AS (
              UPDATE orders
                 SET status = 'refunded', version = orders.version + 1
                FROM locked
               WHERE orders.order_id = locked.order_id AND orders.status = locked.source AND orders.version = $4
              RETURNING orders.order_id, orders.version, locked.source AS source
            ), entered AS (
              INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
              SELECT order_id, version, source, 'refunded', 'refund', $2::text, $3::text, clock_timestamp()
                FROM moved
            )
            SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
              FROM (SELECT 1) AS one
              LEFT JOIN orders AS seen ON seen.order_id = $1
              LEFT JOIN caused ON TRUE
              LEFT JOIN moved ON TRUE

            -- [Cause, Fingerprint, Note, Id, Version]
            INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
            SELECT order_id, version + 1, status, 'refunded', 'refund', ?, ?, NOW(6)
              FROM orders
             WHERE order_id = ? AND status IN ('paid', 'shipped') AND version = ?
               FOR UPDATE

            -- [Fields, Id, Version]
            UPDATE orders
               SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
             WHERE order_id = ? AND status IN ('paid', 'shipped') AND version = ?

            -- [Cause, Fingerprint, Note, Id, Version]
            INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
            SELECT order_id, version + 1, status, 'refunded', 'refund', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
              FROM orders
             WHERE order_id = ?3 AND status IN ('paid', 'shipped') AND version = ?4

            -- [Fields, Id, Version]
            UPDATE orders
               SET status = 'refunded', version = version + 1
             WHERE order_id = ?1 AND status IN ('paid', 'shipped') AND version = ?2
            RETURNING version AS applied
        "#]],
    );
}

#[test]
fn fire_when_a_cause_moves_one_row() {
    let sql = event(&orders(&quote!(history(cause = once))), "ship");
    check(
        &[&sql.fire.postgres, &sql.explain.postgres],
        &expect![[r#"
            -- [Fields, Id, Cause, Fingerprint, Note]
            WITH caused AS MATERIALIZED (
              SELECT version, fingerprint, CASE WHEN order_id = $1 THEN 1 ELSE 0 END AS here
                FROM orders_history
               WHERE event = 'ship' AND cause = $2::text
            ), moved AS (
              UPDATE orders
                 SET status = 'shipped', version = version + 1
               WHERE order_id = $1 AND status = 'paid' AND NOT EXISTS (SELECT FROM caused)
              RETURNING order_id, version
            ), entered AS (
              INSERT INTO orders_history (order_id, version, source, target, event, cause, fingerprint, at)
              SELECT order_id, version, 'paid', 'shipped', 'ship', $2::text, $3::text, clock_timestamp()
                FROM moved
            )
            SELECT moved.version AS applied, seen.status AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
              FROM (SELECT 1) AS one
              LEFT JOIN orders AS seen ON seen.order_id = $1
              LEFT JOIN caused ON TRUE
              LEFT JOIN moved ON TRUE

            -- [Id, Cause]
            SELECT seen.status AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint,
                   CASE WHEN caused.order_id = seen.order_id THEN 1 ELSE 0 END AS caused_here,
                   latest.target AS latest_target, latest.cause AS latest_cause,
                   passed.version AS passed, passed.cause AS passed_cause
              FROM orders AS seen
              LEFT JOIN orders_history AS caused
                ON caused.event = 'ship' AND caused.cause = $2::text
              LEFT JOIN orders_history AS latest
                ON latest.order_id = $1
               AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
              LEFT JOIN orders_history AS passed
                ON passed.order_id = $1
               AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target = 'shipped')
             WHERE seen.order_id = $1
        "#]],
    );
}

#[test]
fn fire_without_a_history() {
    let sql = event(&orders(&quote!()), "refund");
    check(
        &all(&sql),
        &expect![[r#"
            -- [Fields, Id, Version]
            WITH moved AS (
              UPDATE orders
                 SET status = 'refunded', version = version + 1
               WHERE order_id = $1 AND status IN ('paid', 'shipped') AND version = $2
              RETURNING version
            )
            SELECT moved.version AS applied, seen.status AS status, seen.version AS version
              FROM (SELECT 1) AS one
              LEFT JOIN orders AS seen ON seen.order_id = $1
              LEFT JOIN moved ON TRUE

            -- [Fields, Id, Version]
            UPDATE orders
               SET status = 'refunded', version = LAST_INSERT_ID(version + 1)
             WHERE order_id = ? AND status IN ('paid', 'shipped') AND version = ?

            -- [Fields, Id, Version]
            UPDATE orders
               SET status = 'refunded', version = version + 1
             WHERE order_id = ?1 AND status IN ('paid', 'shipped') AND version = ?2
            RETURNING version AS applied
        "#]],
    );
    check(
        &[&sql.explain.postgres, &sql.explain.mysql],
        &expect![[r#"
        -- [Id]
        SELECT status, version
          FROM orders
         WHERE order_id = $1

        -- [Id]
        SELECT status, version
          FROM orders
         WHERE order_id = ?
           FOR UPDATE
    "#]],
    );
}

#[test]
fn explain() {
    let sql = event(&orders(&quote!(history)), "pay").explain;
    check(
        &[&sql.postgres, &sql.mysql, &sql.sqlite],
        &expect![[r#"
            -- [Id, Cause]
            SELECT seen.status AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint,
                   1 AS caused_here,
                   latest.target AS latest_target, latest.cause AS latest_cause,
                   passed.version AS passed, passed.cause AS passed_cause
              FROM orders AS seen
              LEFT JOIN orders_history AS caused
                ON caused.order_id = $1 AND caused.event = 'pay' AND caused.cause = $2::text
              LEFT JOIN orders_history AS latest
                ON latest.order_id = $1
               AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1)
              LEFT JOIN orders_history AS passed
                ON passed.order_id = $1
               AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = $1 AND target = 'paid')
             WHERE seen.order_id = $1

            -- [Id, Cause, Id, Id, Id, Id, Id]
            SELECT seen.status AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint,
                   1 AS caused_here,
                   latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
                   passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
              FROM orders AS seen
              LEFT JOIN orders_history AS caused
                ON caused.order_id = ? AND caused.event = 'pay' AND caused.cause = ?
              LEFT JOIN orders_history AS latest
                ON latest.order_id = ?
               AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? FOR UPDATE)
              LEFT JOIN orders_history AS passed
                ON passed.order_id = ?
               AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ? AND target = 'paid' FOR UPDATE)
             WHERE seen.order_id = ?
               FOR UPDATE

            -- [Id, Cause]
            SELECT seen.status AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint,
                   1 AS caused_here,
                   latest.target AS latest_target, latest.cause AS latest_cause,
                   passed.version AS passed, passed.cause AS passed_cause
              FROM orders AS seen
              LEFT JOIN orders_history AS caused
                ON caused.order_id = ?1 AND caused.event = 'pay' AND caused.cause = ?2
              LEFT JOIN orders_history AS latest
                ON latest.order_id = ?1
               AND latest.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1)
              LEFT JOIN orders_history AS passed
                ON passed.order_id = ?1
               AND passed.version = (SELECT MAX(version) FROM orders_history WHERE order_id = ?1 AND target = 'paid')
             WHERE seen.order_id = ?1
        "#]],
    );
}

#[test]
fn load() {
    let load = super::load(&orders(&quote!()));
    check(
        &[&load.postgres, &load.mysql, &load.sqlite],
        &expect![[r#"
        -- [Id]
        SELECT status, version
          FROM orders
         WHERE order_id = $1

        -- [Id]
        SELECT status, version
          FROM orders
         WHERE order_id = ?

        -- [Id]
        SELECT status, version
          FROM orders
         WHERE order_id = ?1
    "#]],
    );
}

#[test]
fn every_name_is_quoted_where_it_has_to_be() {
    let sql = event(&awkward(), "leave");
    check(
        &all(&sql),
        &expect![[r#"
            -- [Fields, Id, Cause, Fingerprint, Note, Version]
            WITH caused AS MATERIALIZED (
              SELECT version, fingerprint, 1 AS here
                FROM "Shop".order_log
               WHERE tenant = $2 AND type = $3 AND event = 'leave' AND cause = $4::text
            ), locked AS MATERIALIZED (
              SELECT tenant, type, "State" AS source
                FROM "Shop"."order"
               WHERE tenant = $2 AND type = $3 AND "State" IN ('l''été', 'There') AND rev = $6 AND NOT EXISTS (SELECT FROM caused)
                 FOR UPDATE
            ), moved AS (
              UPDATE "Shop"."order"
                 SET "State" = 'Gone', "key" = $1, note = 'it''s', tries = 0, open = FALSE, "by" = NULL, rev = "order".rev + 1
                FROM locked
               WHERE "order".tenant = locked.tenant AND "order".type = locked.type AND "order"."State" = locked.source AND "order".rev = $6
              RETURNING "order".tenant, "order".type, "order".rev AS version, locked.source AS source
            ), entered AS (
              INSERT INTO "Shop".order_log (tenant, type, version, source, target, event, cause, fingerprint, at)
              SELECT tenant, type, version, source, 'Gone', 'leave', $4::text, $5::text, clock_timestamp()
                FROM moved
            )
            SELECT moved.version AS applied, seen."State" AS status, seen.rev AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
              FROM (SELECT 1) AS one
              LEFT JOIN "Shop"."order" AS seen ON seen.tenant = $2 AND seen.type = $3
              LEFT JOIN caused ON TRUE
              LEFT JOIN moved ON TRUE

            -- [Cause, Fingerprint, Note, Id, Version]
            INSERT INTO `Shop`.order_log (tenant, type, version, source, target, event, cause, fingerprint, at)
            SELECT tenant, type, rev + 1, `State`, 'Gone', 'leave', ?, ?, NOW(6)
              FROM `Shop`.`order`
             WHERE tenant = ? AND type = ? AND `State` IN ('l''été', 'There') AND rev = ?
               FOR UPDATE

            -- [Fields, Id, Version]
            UPDATE `Shop`.`order`
               SET `State` = 'Gone', `key` = ?, note = 'it''s', tries = 0, open = FALSE, `by` = NULL, rev = LAST_INSERT_ID(rev + 1)
             WHERE tenant = ? AND type = ? AND `State` IN ('l''été', 'There') AND rev = ?

            -- [Cause, Fingerprint, Note, Id, Version]
            INSERT INTO "Shop".order_log (tenant, type, version, source, target, event, cause, fingerprint, at)
            SELECT tenant, type, rev + 1, "State", 'Gone', 'leave', ?1, ?2, strftime('%Y-%m-%d %H:%M:%f', 'now')
              FROM "Shop"."order"
             WHERE tenant = ?3 AND type = ?4 AND "State" IN ('l''été', 'There') AND rev = ?5

            -- [Fields, Id, Version]
            UPDATE "Shop"."order"
               SET "State" = 'Gone', "key" = ?1, note = 'it''s', tries = 0, open = FALSE, "by" = NULL, rev = rev + 1
             WHERE tenant = ?2 AND type = ?3 AND "State" IN ('l''été', 'There') AND rev = ?4
            RETURNING rev AS applied
        "#]],
    );
    check(
        &[&sql.explain.mysql],
        &expect![[r#"
            -- [Id, Cause, Id, Id, Id, Id, Id]
            SELECT seen.`State` AS status, seen.rev AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint,
                   1 AS caused_here,
                   latest.target AS latest_target, CONVERT(latest.cause USING utf8mb4) AS latest_cause,
                   passed.version AS passed, CONVERT(passed.cause USING utf8mb4) AS passed_cause
              FROM `Shop`.`order` AS seen
              LEFT JOIN `Shop`.order_log AS caused
                ON caused.tenant = ? AND caused.type = ? AND caused.event = 'leave' AND caused.cause = ?
              LEFT JOIN `Shop`.order_log AS latest
                ON latest.tenant = ? AND latest.type = ?
               AND latest.version = (SELECT MAX(version) FROM `Shop`.order_log WHERE tenant = ? AND type = ? FOR UPDATE)
              LEFT JOIN `Shop`.order_log AS passed
                ON passed.tenant = ? AND passed.type = ?
               AND passed.version = (SELECT MAX(version) FROM `Shop`.order_log WHERE tenant = ? AND type = ? AND target = 'Gone' FOR UPDATE)
             WHERE seen.tenant = ? AND seen.type = ?
               FOR UPDATE
        "#]],
    );
}

#[test]
fn the_table_of_a_history() {
    let check = |model: &Model, expected: &Expect| {
        let PerDialect { postgres, mysql, sqlite } = super::history(model).unwrap();
        expected.assert_eq(&[postgres, mysql, sqlite].join("\n\n"));
    };
    check(
        &orders(&quote!(history(name = "moves", cause = once))),
        &expect![[r#"
            CREATE TABLE IF NOT EXISTS moves (
              order_id BIGINT NOT NULL,
              version BIGINT NOT NULL,
              source TEXT NOT NULL,
              target TEXT NOT NULL,
              event TEXT NOT NULL,
              cause TEXT COLLATE "C",
              fingerprint TEXT,
              at TIMESTAMPTZ NOT NULL,
              PRIMARY KEY (order_id, version),
              UNIQUE (event, cause)
            )

            CREATE TABLE IF NOT EXISTS moves (
              order_id BIGINT NOT NULL,
              version BIGINT NOT NULL,
              source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
              target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
              event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
              cause VARBINARY(512),
              fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
              at DATETIME(6) NOT NULL,
              PRIMARY KEY (order_id, version),
              UNIQUE (event, cause)
            )

            CREATE TABLE IF NOT EXISTS moves (
              order_id INTEGER NOT NULL,
              version INTEGER NOT NULL,
              source TEXT NOT NULL,
              target TEXT NOT NULL,
              event TEXT NOT NULL,
              cause TEXT,
              fingerprint TEXT,
              at TEXT NOT NULL,
              PRIMARY KEY (order_id, version),
              UNIQUE (event, cause)
            )"#]],
    );
    check(
        &awkward(),
        &expect![[r#"
            CREATE TABLE IF NOT EXISTS "Shop".order_log (
              tenant BIGINT NOT NULL,
              type UUID NOT NULL,
              version BIGINT NOT NULL,
              source TEXT NOT NULL,
              target TEXT NOT NULL,
              event TEXT NOT NULL,
              cause TEXT COLLATE "C",
              fingerprint TEXT,
              at TIMESTAMPTZ NOT NULL,
              PRIMARY KEY (tenant, type, version),
              UNIQUE (tenant, type, event, cause)
            )

            CREATE TABLE IF NOT EXISTS `Shop`.order_log (
              tenant BIGINT NOT NULL,
              type BINARY(16) NOT NULL,
              version BIGINT NOT NULL,
              source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
              target VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
              event VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
              cause VARBINARY(512),
              fingerprint VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin,
              at DATETIME(6) NOT NULL,
              PRIMARY KEY (tenant, type, version),
              UNIQUE (tenant, type, event, cause)
            )

            CREATE TABLE IF NOT EXISTS "Shop".order_log (
              tenant INTEGER NOT NULL,
              type BLOB NOT NULL,
              version INTEGER NOT NULL,
              source TEXT NOT NULL,
              target TEXT NOT NULL,
              event TEXT NOT NULL,
              cause TEXT,
              fingerprint TEXT,
              at TEXT NOT NULL,
              PRIMARY KEY (tenant, type, version),
              UNIQUE (tenant, type, event, cause)
            )"#]],
    );
}

/// Integers are compared as such and read as text; an alias is matched, and the history has the value that is written.
#[test]
fn integers_and_aliases() {
    let model = crate::machine::model_of(quote! {
        #[machine(table = "lifts", id(lift_id: i64), history, repr = int)]
        #[transition(rise: Ground | Cellar => Top)]
        #[transition(dig: Ground => Cellar)]
        enum Lift {
            #[state(initial, value = 0, alias = 7)]
            Ground,
            #[state(value = -1)]
            Cellar,
            #[state(terminal, value = 40_000)]
            Top,
        }
    });
    let (rise, dig) = (event(&model, "rise"), event(&model, "dig"));
    let enter = rise.enter.mysql.as_ref().expect("the entry is a statement of its own");
    check(
        &[&rise.fire.postgres, enter, &dig.fire.postgres, &dig.explain.sqlite],
        &expect![[r#"
            -- [Fields, Id, Cause, Fingerprint, Note]
            WITH caused AS MATERIALIZED (
              SELECT version, fingerprint, 1 AS here
                FROM lifts_history
               WHERE lift_id = $1 AND event = 'rise' AND cause = $2::text
            ), locked AS MATERIALIZED (
              SELECT lift_id, status AS source
                FROM lifts
               WHERE lift_id = $1 AND status IN (0, 7, -1) AND NOT EXISTS (SELECT FROM caused)
                 FOR UPDATE
            ), moved AS (
              UPDATE lifts
                 SET status = 40000, version = lifts.version + 1
                FROM locked
               WHERE lifts.lift_id = locked.lift_id AND lifts.status = locked.source
              RETURNING lifts.lift_id, lifts.version, CASE locked.source::text WHEN '7' THEN '0' ELSE locked.source::text END AS source
            ), entered AS (
              INSERT INTO lifts_history (lift_id, version, source, target, event, cause, fingerprint, at)
              SELECT lift_id, version, source, '40000', 'rise', $2::text, $3::text, clock_timestamp()
                FROM moved
            )
            SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
              FROM (SELECT 1) AS one
              LEFT JOIN lifts AS seen ON seen.lift_id = $1
              LEFT JOIN caused ON TRUE
              LEFT JOIN moved ON TRUE

            -- [Cause, Fingerprint, Note, Id]
            INSERT INTO lifts_history (lift_id, version, source, target, event, cause, fingerprint, at)
            SELECT lift_id, version + 1, CASE CAST(status AS CHAR) WHEN '7' THEN '0' ELSE CAST(status AS CHAR) END, '40000', 'rise', ?, ?, NOW(6)
              FROM lifts
             WHERE lift_id = ? AND status IN (0, 7, -1)
               FOR UPDATE

            -- [Fields, Id, Cause, Fingerprint, Note]
            WITH caused AS MATERIALIZED (
              SELECT version, fingerprint, 1 AS here
                FROM lifts_history
               WHERE lift_id = $1 AND event = 'dig' AND cause = $2::text
            ), moved AS (
              UPDATE lifts
                 SET status = -1, version = version + 1
               WHERE lift_id = $1 AND status IN (0, 7) AND NOT EXISTS (SELECT FROM caused)
              RETURNING lift_id, version
            ), entered AS (
              INSERT INTO lifts_history (lift_id, version, source, target, event, cause, fingerprint, at)
              SELECT lift_id, version, '0', '-1', 'dig', $2::text, $3::text, clock_timestamp()
                FROM moved
            )
            SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
              FROM (SELECT 1) AS one
              LEFT JOIN lifts AS seen ON seen.lift_id = $1
              LEFT JOIN caused ON TRUE
              LEFT JOIN moved ON TRUE

            -- [Id, Cause]
            SELECT CAST(seen.status AS TEXT) AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint,
                   1 AS caused_here,
                   latest.target AS latest_target, latest.cause AS latest_cause,
                   passed.version AS passed, passed.cause AS passed_cause
              FROM lifts AS seen
              LEFT JOIN lifts_history AS caused
                ON caused.lift_id = ?1 AND caused.event = 'dig' AND caused.cause = ?2
              LEFT JOIN lifts_history AS latest
                ON latest.lift_id = ?1
               AND latest.version = (SELECT MAX(version) FROM lifts_history WHERE lift_id = ?1)
              LEFT JOIN lifts_history AS passed
                ON passed.lift_id = ?1
               AND passed.version = (SELECT MAX(version) FROM lifts_history WHERE lift_id = ?1 AND target = '-1')
             WHERE seen.lift_id = ?1
        "#]],
    );
}

/// An enum type is cast to be read, and never compared with a text.
#[test]
fn a_native_enum() {
    let model = crate::machine::model_of(quote! {
        #[machine(table = "bills", id(bill_id: i64), history, repr = native, rename_all = "snake_case")]
        #[transition(settle: Sent | Reminded => Settled)]
        #[transition(remind: Sent => Reminded)]
        enum Bill {
            #[state(initial)]
            Sent,
            Reminded,
            #[state(terminal)]
            Settled,
        }
    });
    let load = super::load(&model);
    check(
        &[&load.postgres, &load.mysql, &event(&model, "settle").fire.postgres],
        &expect![[r#"
            -- [Id]
            SELECT status::text AS status, version
              FROM bills
             WHERE bill_id = $1

            -- [Id]
            SELECT status, version
              FROM bills
             WHERE bill_id = ?

            -- [Fields, Id, Cause, Fingerprint, Note]
            WITH caused AS MATERIALIZED (
              SELECT version, fingerprint, 1 AS here
                FROM bills_history
               WHERE bill_id = $1 AND event = 'settle' AND cause = $2::text
            ), locked AS MATERIALIZED (
              SELECT bill_id, status AS source
                FROM bills
               WHERE bill_id = $1 AND status IN ('sent', 'reminded') AND NOT EXISTS (SELECT FROM caused)
                 FOR UPDATE
            ), moved AS (
              UPDATE bills
                 SET status = 'settled', version = bills.version + 1
                FROM locked
               WHERE bills.bill_id = locked.bill_id AND bills.status = locked.source
              RETURNING bills.bill_id, bills.version, locked.source::text AS source
            ), entered AS (
              INSERT INTO bills_history (bill_id, version, source, target, event, cause, fingerprint, at)
              SELECT bill_id, version, source, 'settled', 'settle', $2::text, $3::text, clock_timestamp()
                FROM moved
            )
            SELECT moved.version AS applied, seen.status::text AS status, seen.version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, caused.here AS caused_here
              FROM (SELECT 1) AS one
              LEFT JOIN bills AS seen ON seen.bill_id = $1
              LEFT JOIN caused ON TRUE
              LEFT JOIN moved ON TRUE
        "#]],
    );
    let columns = super::columns(&model);
    let texts = [
        columns.status_type.postgres.unwrap_or_default(),
        columns.definitions.postgres,
        columns.definitions.mysql,
        columns.definitions.sqlite,
        columns.widen.postgres.unwrap_or_default(),
        columns.widen.mysql.unwrap_or_default(),
        columns.unknown_values.postgres,
    ];
    expect![[r#"
        CREATE TYPE bill AS ENUM ('sent', 'reminded', 'settled')

        status bill NOT NULL DEFAULT 'sent',
          version BIGINT NOT NULL DEFAULT 0

        status ENUM ('sent', 'reminded', 'settled') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'sent',
          version BIGINT NOT NULL DEFAULT 0

        status TEXT NOT NULL DEFAULT 'sent',
          version INTEGER NOT NULL DEFAULT 0

        ALTER TYPE bill ADD VALUE IF NOT EXISTS 'sent';
        ALTER TYPE bill ADD VALUE IF NOT EXISTS 'reminded';
        ALTER TYPE bill ADD VALUE IF NOT EXISTS 'settled'

        ALTER TABLE bills
          MODIFY status ENUM ('sent', 'reminded', 'settled') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'sent'

        SELECT status::text AS status, COUNT(*) AS held
          FROM bills
         WHERE status::text NOT IN ('sent', 'reminded', 'settled') OR status IS NULL
         GROUP BY status::text
         ORDER BY status::text"#]].assert_eq(&texts.join("\n\n"));
}

/// Only the status is compared, and nothing is counted.
#[test]
fn without_a_version() {
    let model = crate::machine::model_of(quote! {
        #[machine(table = "seals", id(seal_id: i64), version = none)]
        #[transition(press: Soft => Hard)]
        enum Seal {
            #[state(initial)]
            Soft,
            #[state(terminal)]
            Hard,
        }
    });
    let PerDialect { postgres, mysql, sqlite } = event(&model, "press").fire;
    check(
        &[&postgres, &mysql, &sqlite],
        &expect![[r#"
        -- [Fields, Id]
        WITH moved AS (
          UPDATE seals
             SET status = 'Hard'
           WHERE seal_id = $1 AND status = 'Soft'
          RETURNING 0 AS version
        )
        SELECT moved.version AS applied, seen.status AS status, CASE WHEN seen.seal_id IS NOT NULL THEN 0 END AS version
          FROM (SELECT 1) AS one
          LEFT JOIN seals AS seen ON seen.seal_id = $1
          LEFT JOIN moved ON TRUE

        -- [Fields, Id]
        UPDATE seals
           SET status = 'Hard'
         WHERE seal_id = ? AND status = 'Soft'

        -- [Fields, Id]
        UPDATE seals
           SET status = 'Hard'
         WHERE seal_id = ?1 AND status = 'Soft'
        RETURNING 0 AS applied
    "#]],
    );
}

#[test]
fn lock_a_row() {
    let [lock, lock_now] = super::lock(&awkward());
    check(
        &[&lock.postgres, &lock.mysql, &lock.sqlite, &lock_now.postgres, &lock_now.mysql],
        &expect![[r#"
        -- [Id, Wait]
        WITH patience AS MATERIALIZED (
          SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $3::text, TRUE) AS now
        ), locked AS MATERIALIZED (
          SELECT seen."State" AS status, seen.rev AS version
            FROM patience, "Shop"."order" AS seen
           WHERE seen.tenant = $1 AND seen.type = $2
             FOR UPDATE OF seen
        )
        SELECT locked.status AS status, locked.version AS version,
               set_config('lock_timeout', patience.before, TRUE) AS lock_timeout
          FROM patience
          LEFT JOIN locked ON TRUE

        -- [Id]
        SELECT `State` AS status, rev AS version
          FROM `Shop`.`order`
         WHERE tenant = ? AND type = ?
           FOR UPDATE

        -- [Id]
        SELECT "State" AS status, rev AS version
          FROM "Shop"."order"
         WHERE tenant = ?1 AND type = ?2

        -- [Id]
        SELECT "State" AS status, rev AS version
          FROM "Shop"."order"
         WHERE tenant = $1 AND type = $2
           FOR UPDATE NOWAIT

        -- [Id]
        SELECT `State` AS status, rev AS version
          FROM `Shop`.`order`
         WHERE tenant = ? AND type = ?
           FOR UPDATE NOWAIT
    "#]],
    );
}

#[test]
fn many_rows_on_postgres() {
    check(
        &[&event(&awkward(), "leave").fire_all.postgres],
        &expect![[r#"
            -- [Fields, Ids, Cause, Fingerprint, Note]
            WITH given AS MATERIALIZED (
              SELECT list.nth, id.tenant, id.type
                FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
                     json_populate_record(NULL::"Shop"."order", json_build_object('tenant', list.it -> 0, 'type', list.it -> 1)) AS id
            ), caused AS MATERIALIZED (
              SELECT given.nth, entry.version, entry.fingerprint
                FROM given
                JOIN "Shop".order_log AS entry ON entry.tenant = given.tenant AND entry.type = given.type
               WHERE entry.event = 'leave' AND entry.cause = $3::text
            ), locked AS MATERIALIZED (
              SELECT given.nth, seen.tenant, seen.type, seen."State" AS found_status, seen.rev AS found_version
                FROM given
                JOIN "Shop"."order" AS seen ON seen.tenant = given.tenant AND seen.type = given.type
               ORDER BY given.nth
                 FOR UPDATE OF seen
            ), moved AS (
              UPDATE "Shop"."order"
                 SET "State" = 'Gone', "key" = $1, note = 'it''s', tries = 0, open = FALSE, "by" = NULL, rev = "order".rev + 1
                FROM locked
               WHERE "order".tenant = locked.tenant AND "order".type = locked.type AND "order"."State" = locked.found_status AND "order"."State" IN ('l''été', 'There')
                 AND NOT EXISTS (SELECT FROM caused WHERE caused.nth = locked.nth)
              RETURNING locked.nth, "order".rev AS version, "order".tenant, "order".type, locked.found_status AS source
            ), entered AS (
              INSERT INTO "Shop".order_log (tenant, type, version, source, target, event, cause, fingerprint, at)
              SELECT tenant, type, version, source, 'Gone', 'leave', $3::text, $4::text, clock_timestamp()
                FROM moved
            )
            SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version,
                   caused.version AS caused, caused.fingerprint AS caused_fingerprint, 1 AS caused_here
              FROM given
              LEFT JOIN locked ON locked.nth = given.nth
              LEFT JOIN moved ON moved.nth = given.nth
              LEFT JOIN caused ON caused.nth = given.nth
        "#]],
    );
    check(
        &[&event(&orders(&quote!()), "pay").fire_all.postgres],
        &expect![[r#"
            -- [Fields, Ids]
            WITH given AS MATERIALIZED (
              SELECT list.nth, id.order_id
                FROM json_array_elements($2::text::json) WITH ORDINALITY AS list (it, nth),
                     json_populate_record(NULL::orders, json_build_object('order_id', list.it)) AS id
            ), locked AS MATERIALIZED (
              SELECT given.nth, seen.order_id, seen.status AS found_status, seen.version AS found_version
                FROM given
                JOIN orders AS seen ON seen.order_id = given.order_id
               ORDER BY given.nth
                 FOR UPDATE OF seen
            ), moved AS (
              UPDATE orders
                 SET status = 'paid', paid_at = clock_timestamp(), trade_no = $1, version = orders.version + 1
                FROM locked
               WHERE orders.order_id = locked.order_id AND orders.status = locked.found_status AND orders.status = 'pending'
              RETURNING locked.nth, orders.version
            )
            SELECT given.nth AS nth, moved.version AS applied, locked.found_status AS status, locked.found_version AS version
              FROM given
              LEFT JOIN locked ON locked.nth = given.nth
              LEFT JOIN moved ON moved.nth = given.nth
        "#]],
    );
}

#[test]
fn many_rows_on_mysql_and_sqlite() {
    let (model, leave) = (awkward(), event(&awkward(), "leave"));
    let bulk = super::bulk(&model);
    for (bulk, fire, expected) in [
        (
            &bulk.mysql,
            &leave.fire_all.mysql,
            expect![[r#"
                -- [Ids]
                SELECT given.nth AS nth, seen.`State` AS status, seen.rev AS version
                  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant BIGINT PATH '$[0]', type CHAR(36) PATH '$[1]')) AS given
                  STRAIGHT_JOIN `Shop`.`order` AS seen ON seen.tenant = given.tenant AND seen.type = UNHEX(REPLACE(given.type, '-', ''))
                   FOR UPDATE

                -- [Ids, EventName, Cause]
                SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
                  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant BIGINT PATH '$[0]', type CHAR(36) PATH '$[1]')) AS given
                  STRAIGHT_JOIN `Shop`.order_log AS entry ON entry.tenant = given.tenant AND entry.type = UNHEX(REPLACE(given.type, '-', ''))
                 WHERE entry.event = ? AND entry.cause = ?

                -- [Target, EventName, Cause, Fingerprint, Note, Ids]
                INSERT INTO `Shop`.order_log (tenant, type, version, source, target, event, cause, fingerprint, at)
                SELECT seen.tenant, seen.type, seen.rev + 1, seen.`State`, ?, ?, ?, ?, NOW(6)
                  FROM JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant BIGINT PATH '$[0]', type CHAR(36) PATH '$[1]')) AS given
                  STRAIGHT_JOIN `Shop`.`order` AS seen ON seen.tenant = given.tenant AND seen.type = UNHEX(REPLACE(given.type, '-', ''))

                -- [Ids, Fields]
                UPDATE JSON_TABLE(?, '$[*]' COLUMNS (nth FOR ORDINALITY, tenant BIGINT PATH '$[0]', type CHAR(36) PATH '$[1]')) AS given
                STRAIGHT_JOIN `Shop`.`order` AS seen ON seen.tenant = given.tenant AND seen.type = UNHEX(REPLACE(given.type, '-', ''))
                   SET `State` = 'Gone', `key` = ?, note = 'it''s', tries = 0, open = FALSE, `by` = NULL, rev = seen.rev + 1
                 WHERE seen.`State` IN ('l''été', 'There')
            "#]],
        ),
        (
            &bulk.sqlite,
            &leave.fire_all.sqlite,
            expect![[r#"
                -- [Ids]
                SELECT given.nth AS nth, seen."State" AS status, seen.rev AS version
                  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant, json_extract(list.value, '$[1]') AS type FROM json_each(?1) AS list) AS given
                  JOIN "Shop"."order" AS seen ON seen.tenant = given.tenant AND seen.type = unhex(replace(given.type, '-', ''))

                -- [Ids, EventName, Cause]
                SELECT given.nth AS nth, entry.version AS caused, entry.fingerprint AS caused_fingerprint, 1 AS caused_here
                  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant, json_extract(list.value, '$[1]') AS type FROM json_each(?1) AS list) AS given
                  JOIN "Shop".order_log AS entry ON entry.tenant = given.tenant AND entry.type = unhex(replace(given.type, '-', ''))
                 WHERE entry.event = ?2 AND entry.cause = ?3

                -- [Target, EventName, Cause, Fingerprint, Note, Ids]
                INSERT INTO "Shop".order_log (tenant, type, version, source, target, event, cause, fingerprint, at)
                SELECT seen.tenant, seen.type, seen.rev + 1, seen."State", ?1, ?2, ?3, ?4, strftime('%Y-%m-%d %H:%M:%f', 'now')
                  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant, json_extract(list.value, '$[1]') AS type FROM json_each(?5) AS list) AS given
                  JOIN "Shop"."order" AS seen ON seen.tenant = given.tenant AND seen.type = unhex(replace(given.type, '-', ''))

                -- [Fields, Ids]
                UPDATE "Shop"."order"
                   SET "State" = 'Gone', "key" = ?1, note = 'it''s', tries = 0, open = FALSE, "by" = NULL, rev = "order".rev + 1
                  FROM (SELECT list.key + 1 AS nth, json_extract(list.value, '$[0]') AS tenant, json_extract(list.value, '$[1]') AS type FROM json_each(?2) AS list) AS given
                 WHERE "order".tenant = given.tenant AND "order".type = unhex(replace(given.type, '-', '')) AND "order"."State" IN ('l''été', 'There')
            "#]],
        ),
    ] {
        let bulk = bulk.as_ref().expect("the types of the identifier are known");
        let history = bulk.history.iter().flatten();
        check(&[&bulk.read].into_iter().chain(history).chain([fire]).collect::<Vec<_>>(), &expected);
    }
}

/// A list of texts would be compared with numbers as fractions.
#[test]
fn many_rows_whose_identifier_has_a_type_of_the_users() {
    let model = crate::machine::model_of(quote! {
        #[machine(table = "orders", id(order_id: OrderId))]
        #[transition(pay: Pending => Paid)]
        enum OrderStatus {
            #[state(initial)]
            Pending,
            #[state(terminal)]
            Paid,
        }
    });
    let bulk = super::bulk(&model);
    assert!(bulk.mysql.is_none() && bulk.sqlite.is_some());
}

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;
use quote::quote;

use super::*;
use crate::machine::model_of;

fn ticket(rest: &TokenStream) -> Model {
    model_of(quote! {
        #[machine(table = "tickets", id(ticket_id: i64), rename_all = "snake_case")]
        #[transition(take: Open => Taken)]
        #rest
    })
}

fn three_states() -> TokenStream {
    quote! {
        #[transition(close: Open | Taken => Closed)]
        enum Ticket { #[state(initial, alias = "new")] Open, Taken, #[state(terminal)] Closed }
    }
}

fn name(rest: &TokenStream) -> String {
    Guard::new(Dialect::Postgres, &ticket(rest)).name()
}

fn check(dialect: Dialect, model: &Model, expected: &Expect) {
    expected.assert_eq(&format!("{}\n", guard(dialect, model).install));
}

/// Installed in running databases: these never change unless the text of the triggers does.
#[test]
fn golden_names() {
    let two = name(&quote! { enum Ticket { #[state(initial)] Open, #[state(terminal)] Taken } });
    expect!["tickets_status_guard_5137b786 tickets_status_guard_bfadfe63"]
        .assert_eq(&[name(&three_states()), two].join(" "));
}

#[test]
fn what_allows_the_same_has_one_name() {
    let one = name(&three_states());
    let other = name(&quote! {
        #[transition(seize: Open => Taken)]
        #[transition(drop: Taken | Open => Closed)]
        enum Ticket { #[state(terminal)] Closed, Taken, #[state(initial, alias = "new")] Open }
    });
    assert_eq!(one, other);
}

#[test]
fn what_allows_other_changes_has_another_name() {
    let changed = [
        quote! {
            #[transition(close: Taken => Closed)]
            enum Ticket { #[state(initial, alias = "new")] Open, Taken, #[state(terminal)] Closed }
        },
        quote! {
            #[transition(close: Open | Taken => Closed)]
            enum Ticket { #[state(initial)] Open, Taken, #[state(terminal)] Closed }
        },
        quote! {
            #[transition(close: Open | Taken => Closed)]
            enum Ticket { #[state(initial)] Open, #[state(alias = "new")] Taken, #[state(terminal)] Closed }
        },
    ];
    let mut names: Vec<_> = changed.iter().chain([&three_states()]).map(name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn a_stored_value_does_not_end_the_text() {
    assert_eq!(dollar_quote("$ident$"), "$idem$");
    assert_eq!(dollar_quote("a $idem$ b"), "$_idem$");
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of them are the expected SQL")]
fn every_name_is_quoted_where_it_has_to_be() {
    let awkward = model_of(quote! {
        #[machine(table = "Shop.order", id(tenant: i64, r#type: Uuid), status = "the \"State\"", version = none)]
        #[transition(leave: Here => Gone)]
        enum Order { #[state(initial, rename = "l'été", alias = "$idem$")] Here, #[state(terminal)] Gone }
    });
    check(
        Dialect::Postgres,
        &awkward,
        &expect![[r#"
        CREATE OR REPLACE FUNCTION "Shop"."order_the ""State""_guard"() RETURNS trigger LANGUAGE plpgsql AS $_idem$
        DECLARE
          source text;
          target text;
          moved jsonb;
        BEGIN
          IF TG_OP = 'DELETE' THEN
            moved := jsonb_build_object('row', jsonb_build_array('"Shop"."order"'::text, OLD.tenant, OLD.type), 'status', OLD."the ""State"""::text);
            PERFORM set_config('idem.moved', moved::text, true);
            RETURN NULL;
          END IF;
          target := NEW."the ""State"""::text;
          IF TG_OP = 'UPDATE' THEN
            source := OLD."the ""State"""::text;
          ELSE
            moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;
            IF moved -> 'row' = jsonb_build_array('"Shop"."order"'::text, NEW.tenant, NEW.type) THEN
              source := moved ->> 'status';
              PERFORM set_config('idem.moved', '', true);
            END IF;
          END IF;
          IF source = target
             OR source IN ('l''été', '$idem$') AND target IN ('l''été', '$idem$', 'Gone')
             OR source = 'Gone' AND target = 'Gone'
             OR current_setting('idem.repair', true) = txid_current()::text THEN
            RETURN NULL;
          END IF;
          RAISE EXCEPTION USING
            ERRCODE = 'ID001',
            MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN 'idem guard order_the "State"_guard_6f95da9e: not an initial state' ELSE 'idem guard order_the "State"_guard_6f95da9e: undeclared transition' END,
            DETAIL = format('%L to %L', source, target),
            SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'the "State"', CONSTRAINT = 'order_the "State"_guard_6f95da9e';
        END
        $_idem$;
        DROP TRIGGER IF EXISTS "order_the ""State""_guard_update" ON "Shop"."order";
        DROP TRIGGER IF EXISTS "order_the ""State""_guard_insert" ON "Shop"."order";
        DROP TRIGGER IF EXISTS "order_the ""State""_guard_delete" ON "Shop"."order";
        CREATE TRIGGER "order_the ""State""_guard_update" AFTER UPDATE ON "Shop"."order"
          FOR EACH ROW WHEN (OLD."the ""State"""::text IS DISTINCT FROM NEW."the ""State"""::text) EXECUTE FUNCTION "Shop"."order_the ""State""_guard"();
        CREATE TRIGGER "order_the ""State""_guard_insert" AFTER INSERT ON "Shop"."order"
          FOR EACH ROW WHEN ((NEW."the ""State"""::text IN ('l''été', '$idem$')) IS NOT TRUE) EXECUTE FUNCTION "Shop"."order_the ""State""_guard"();
        CREATE TRIGGER "order_the ""State""_guard_delete" AFTER DELETE ON "Shop"."order"
          FOR EACH ROW WHEN (OLD.tableoid <> '"Shop"."order"'::regclass) EXECUTE FUNCTION "Shop"."order_the ""State""_guard"()
    "#]],
    );
    check(
        Dialect::MySql,
        &awkward,
        &expect![[r#"
        CREATE TABLE IF NOT EXISTS `Shop`.idem_repair (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB;
        DROP TRIGGER IF EXISTS `Shop`.`order_the "State"_guard_update`;
        DROP TRIGGER IF EXISTS `Shop`.`order_the "State"_guard_insert`;
        CREATE TRIGGER `Shop`.`order_the "State"_guard_update` AFTER UPDATE ON `Shop`.`order` FOR EACH ROW
        BEGIN
          DECLARE source VARBINARY(1024) DEFAULT CAST(CONVERT(OLD.`the "State"` USING utf8mb4) AS BINARY);
          DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.`the "State"` USING utf8mb4) AS BINARY);
          IF NOT (source <=> target)
             AND (   source IN ('l''été', '$idem$') AND target IN ('l''été', '$idem$', 'Gone')
                  OR source = 'Gone' AND target = 'Gone') IS NOT TRUE
             AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
            SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard order_the "State"_guard_6f95da9e: undeclared transition';
          END IF;
        END;
        CREATE TRIGGER `Shop`.`order_the "State"_guard_insert` AFTER INSERT ON `Shop`.`order` FOR EACH ROW
        BEGIN
          DECLARE target VARBINARY(1024) DEFAULT CAST(CONVERT(NEW.`the "State"` USING utf8mb4) AS BINARY);
          IF (target IN ('l''été', '$idem$')) IS NOT TRUE
             AND NOT EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID()) THEN
            SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'idem guard order_the "State"_guard_6f95da9e: not an initial state';
          END IF;
        END
    "#]],
    );
    check(
        Dialect::Sqlite,
        &awkward,
        &expect![[r#"
        CREATE TABLE IF NOT EXISTS "Shop".idem_repair (session INTEGER NOT NULL PRIMARY KEY);
        DROP TRIGGER IF EXISTS "Shop"."order_the ""State""_guard_update";
        DROP TRIGGER IF EXISTS "Shop"."order_the ""State""_guard_insert";
        CREATE TRIGGER "Shop"."order_the ""State""_guard_update" AFTER UPDATE OF "the ""State""" ON "order"
         WHEN OLD."the ""State""" COLLATE BINARY IS NOT NEW."the ""State""" COLLATE BINARY
          AND (   OLD."the ""State""" COLLATE BINARY IN ('l''été', '$idem$') AND NEW."the ""State""" COLLATE BINARY IN ('l''été', '$idem$', 'Gone')
               OR OLD."the ""State""" COLLATE BINARY = 'Gone' AND NEW."the ""State""" COLLATE BINARY = 'Gone') IS NOT TRUE
          AND NOT EXISTS (SELECT 1 FROM idem_repair)
        BEGIN
          SELECT RAISE(ABORT, 'idem guard order_the "State"_guard_6f95da9e: undeclared transition');
        END;
        CREATE TRIGGER "Shop"."order_the ""State""_guard_insert" AFTER INSERT ON "order"
         WHEN (NEW."the ""State""" COLLATE BINARY IN ('l''été', '$idem$')) IS NOT TRUE
          AND NOT EXISTS (SELECT 1 FROM idem_repair)
        BEGIN
          SELECT RAISE(ABORT, 'idem guard order_the "State"_guard_6f95da9e: not an initial state');
        END
    "#]],
    );
}

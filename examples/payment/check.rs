//! The checker: plain SQL over the tables, each statement in a file of its own. It shares no code with idem.

use sqlx::Pool;

use crate::callbacks::{Expected, ExpectedTrade, Fate};
use crate::database::{Database, Value};

/// What a finding of a check counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    ChargedTwice,
    WronglyRefunded,
    Lost,
}

/// A statement that finds what must not be: the number of a trade or an order a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check {
    pub(crate) file: &'static str,
    pub(crate) counts_as: Count,
    text: &'static str,
}

impl Check {
    /// What the statement finds: its first line, a comment.
    pub(crate) fn finds(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("-- ")
    }

    /// The statement.
    pub(crate) fn sql(&self) -> &'static str {
        self.text.split_once('\n').map_or(self.text, |(_, sql)| sql.trim_end())
    }
}

macro_rules! checks {
    ($($count:ident: $($file:literal)*;)*) => {
        /// All of them.
        pub(crate) const CHECKS: &[Check] = &[$($(Check {
            file: $file,
            counts_as: Count::$count,
            text: include_str!(concat!("check/", $file)),
        },)*)*];
    };
}

checks! {
    ChargedTwice: "trade_charged_twice.sql" "order_charged_twice.sql" "charged_for_nothing.sql";
    WronglyRefunded: "charged_and_set_aside.sql" "set_aside_wrongly.sql" "too_much_given_back.sql"
        "too_many_presents.sql";
    Lost: "money_not_booked.sql" "order_not_charged.sql" "too_little_given_back.sql" "wrong_end.sql"
        "unexplained_entry.sql" "broken_history.sql" "row_without_history.sql";
}

/// A check and what it found.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) check: Check,
    pub(crate) found: Vec<String>,
}

/// How often a kind of fault was found.
pub(crate) fn count(findings: &[Finding], kind: Count) -> usize {
    findings.iter().filter(|finding| finding.check.counts_as == kind).map(|finding| finding.found.len()).sum()
}

/// The sums of the ledger, in minor units.
#[derive(Debug)]
pub(crate) struct Books {
    /// What the channel took from buyers.
    pub(crate) money_in: i64,
    pub(crate) charged: i64,
    pub(crate) set_aside: i64,
    pub(crate) refunded: i64,
    pub(crate) goodwill: i64,
}

/// Runs every check.
pub(crate) async fn run<DB: Database>(pool: &Pool<DB>) -> sqlx::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for check in CHECKS {
        findings.push(Finding { check: *check, found: DB::texts(pool, check.text, &[]).await? });
    }
    Ok(findings)
}

/// Adds the ledger up.
pub(crate) async fn books<DB: Database>(pool: &Pool<DB>) -> sqlx::Result<Books> {
    Ok(Books {
        money_in: sum(pool, "SELECT amount FROM expected_trade WHERE fate <> 'unpaid'").await?,
        charged: sum(pool, "SELECT amount FROM ledger WHERE kind = 'charge'").await?,
        set_aside: sum(pool, "SELECT amount FROM ledger WHERE kind = 'set_aside'").await?,
        refunded: sum(pool, "SELECT amount FROM ledger WHERE kind = 'refund'").await?,
        goodwill: sum(pool, "SELECT amount FROM ledger WHERE kind = 'goodwill'").await?,
    })
}

/// What one order has gone through.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) history: Vec<String>,
    pub(crate) ledger: Vec<String>,
}

/// Reads what one order has gone through.
pub(crate) async fn life<DB: Database>(pool: &Pool<DB>, out_trade_no: &str) -> sqlx::Result<Life> {
    const HISTORY: &str = "SELECT CONCAT(source, ' ─', event, '→ ', target) FROM orders_history \
                           WHERE out_trade_no = ? ORDER BY version";
    const LEDGER: &str = "SELECT CONCAT(kind, ' ', trade_no) FROM ledger WHERE out_trade_no = ? ORDER BY entry";
    let order = [Value::Text(out_trade_no)];
    let history = DB::texts(pool, HISTORY, &order).await?;
    Ok(Life { history, ledger: DB::texts(pool, LEDGER, &order).await? })
}

async fn sum<DB: Database>(pool: &Pool<DB>, select: &'static str) -> sqlx::Result<i64> {
    Ok(DB::integers(pool, select).await?.iter().sum())
}

/// Writes down what must hold.
pub(crate) async fn expect<DB: Database>(pool: &Pool<DB>, expected: &[Expected]) -> sqlx::Result<()> {
    DB::script(pool, include_str!("check/tables.sql").to_owned()).await?;
    for order in expected {
        expect_order(pool, order).await?;
        for trade in &order.trades {
            expect_trade(pool, trade).await?;
        }
    }
    Ok(())
}

async fn expect_order<DB: Database>(pool: &Pool<DB>, order: &Expected) -> sqlx::Result<()> {
    const ORDER: &str =
        "INSERT INTO expected_order (out_trade_no, story, min_charges, max_charges) VALUES (?, ?, ?, ?)";
    const END: &str = "INSERT INTO expected_end (out_trade_no, status) VALUES (?, ?)";
    let number = Value::Text(&order.out_trade_no);
    let (least, most) = (Value::Integer(order.min_charges), Value::Integer(order.max_charges));
    DB::execute(pool, ORDER, &[number, Value::Text(&order.story), least, most]).await?;
    for state in &order.end {
        DB::execute(pool, END, &[number, Value::Text(state)]).await?;
    }
    Ok(())
}

async fn expect_trade<DB: Database>(pool: &Pool<DB>, trade: &ExpectedTrade) -> sqlx::Result<()> {
    const TRADE: &str =
        "INSERT INTO expected_trade (trade_no, fate, amount, refunded, partial_refunds) VALUES (?, ?, ?, ?, ?)";
    let fate = match trade.fate {
        Fate::Unpaid => "unpaid",
        Fate::Charged => "charged",
        Fate::SetAside => "set_aside",
        Fate::Either => "either",
    };
    let amounts = [trade.amount.0, trade.refunded.0, trade.partial_refunds].map(Value::Integer);
    let [amount, refunded, parts] = amounts;
    DB::execute(pool, TRADE, &[Value::Text(&trade.trade_no), Value::Text(fate), amount, refunded, parts]).await
}

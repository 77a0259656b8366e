//! What the run prints, within 100 columns.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use idem_runtime::prelude::*;

use crate::check::{Books, Count, Finding, count};
use crate::machines::{OrderStatus, PaymentStatus};
use crate::money::Money;
use crate::network::{Answer, Tally, Weather};
use crate::service::{Reason, Verdict};

const WIDTH: u16 = 100;

/// The two machines and their SQL.
pub(crate) fn machines(dialect: Dialect) {
    machine::<PaymentStatus>(dialect, "PAYMENT: what becomes of a trade's money");
    machine::<OrderStatus>(dialect, "ORDER: what becomes of an order");
    println!("Every statement of all three databases, with idem's own: examples/payment/sql/\n");
}

fn machine<M: StateMachine>(dialect: Dialect, title: &str) {
    heading(title);
    println!("{}", diagram::<M>());
    println!("{}\n", transitions::<M>());
    println!("The SQL that `#[derive(StateMachine)]` wrote for {}:\n", dialect.name());
    for (event, sql) in M::EVENTS {
        println!("-- {event}");
        if let Some(enter) = sql.enter.of(dialect) {
            println!("{};", enter.sql);
        }
        println!("{};\n", sql.fire.of(dialect).sql);
    }
}

/// The transitions as chains, each drawn once. A terminal state ends in a square.
fn diagram<M: StateMachine>() -> String {
    let mut left: Vec<_> = M::TRANSITIONS.iter().collect();
    let mut lines = String::new();
    while !left.is_empty() {
        let mut at = left.iter().find(|edge| edge.source == M::INITIAL).unwrap_or(&left[0]).source;
        lines += &format!("  {}", mark(at));
        while let Some(next) = left.iter().position(|edge| edge.source == at) {
            let edge = left.remove(next);
            lines += &format!(" ─{}→ {}", edge.event, mark(edge.target));
            at = edge.target;
        }
        lines.push('\n');
    }
    lines
}

fn mark<M: StateMachine>(state: M) -> String {
    let is_terminal = M::TRANSITIONS.iter().all(|edge| edge.source != state);
    format!("{}{}", state.name(), if is_terminal { " ■" } else { "" })
}

fn transitions<M: StateMachine>() -> Table {
    let mut table = table(&["event", "from", "to", "stored as"]);
    for edge in M::TRANSITIONS {
        table.add_row([edge.event, edge.source.name(), edge.target.name(), edge.target.stored()]);
    }
    table
}

/// What is about to happen.
pub(crate) fn deliveries(lines: usize, orders: usize, weather: Weather) {
    heading("CALLBACKS");
    println!("{lines} lines of examples/payment/callbacks.jsonl, for {orders} orders.");
    println!(
        "{} workers deliver each line {} times, shuffled with seed {}; what is answered \"resend\" comes again.\n",
        weather.workers, weather.repeat, weather.seed
    );
}

/// A line for each outcome.
pub(crate) fn outcomes(tally: &Tally) {
    let mut table = table(&["outcome", "deliveries", "what it means"]);
    for (name, count, meaning) in rows(tally) {
        table.add_row([name, &count.to_string(), meaning]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}\n");
    println!("{} deliveries met another one of the same order that was under way.", tally.overlaps);
    if let Some(error) = &tally.last_error {
        println!("{} were given up, the last one with: {error}", tally.given_up);
    }
    println!();
}

fn rows(tally: &Tally) -> [(&'static str, usize, &'static str); 12] {
    let first = |verdict| tally.sum(|answer| answer == Answer::Settled { verdict, replay: false });
    let aside = |reason| first(Verdict::SetAside(reason));
    [
        ("executed", first(Verdict::Executed), "it moved the machines and wrote the ledger"),
        ("replayed", tally.replayed(), "the same notify_id again: the stored verdict, no second run"),
        ("already", first(Verdict::Already), "another notify_id, and the trade had told it before"),
        ("noted", first(Verdict::Noted), "nobody has paid yet"),
        ("other cause set aside", aside(Reason::OtherCause), "another trade has paid the order"),
        ("illegal set aside", aside(Reason::Illegal), "the order's state does not accept a payment"),
        ("amount refused", aside(Reason::Amount), "the order costs another amount; set aside"),
        ("not found", aside(Reason::NotFound), "there is no such order; set aside"),
        ("mismatch", first(Verdict::Mismatch), "the trade was booked for another order"),
        ("key reused", tally.sum(|answer| answer == Answer::Reused), "the same notify_id with other contents"),
        ("resend: too early", tally.sum(|answer| answer == Answer::Early), "a refund overtook its payment"),
        ("resend: busy", tally.sum(|answer| answer == Answer::Busy), "in progress elsewhere, or a deadlock"),
    ]
}

/// Each check with its SQL, and what it found.
pub(crate) fn findings(findings: &[Finding], books: &Books, place: &str) {
    heading("CHECKER: plain SQL, to run yourself");
    println!("{place}\n");
    for finding in findings {
        let mark = if finding.found.is_empty() { "ok" } else { "FOUND" };
        println!("{mark:>5} {:>3}  {}", finding.found.len(), finding.check.finds());
    }
    println!();
    for finding in findings {
        println!("-- check/{}: {}", finding.check.file, finding.check.finds());
        println!("{};", finding.check.sql());
        if !finding.found.is_empty() {
            println!("-- found: {}", shortened(&finding.found));
        }
        println!();
    }
    sums(books);
}

fn shortened(found: &[String]) -> String {
    let first = found.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
    if found.len() > 3 { format!("{first} and {} more", found.len() - 3) } else { first }
}

fn sums(books: &Books) {
    let [came, charged, aside] = [books.money_in, books.charged, books.set_aside].map(Money);
    let sign = if came == Money(charged.0 + aside.0) { '=' } else { '≠' };
    println!("money in {came} {sign} charged {charged} + set aside {aside}");
    println!("given back {}, goodwill {}\n", Money(books.refunded), Money(books.goodwill));
}

/// The last line.
pub(crate) fn last_line(tally: &Tally, findings: &[Finding]) {
    let aside = [Reason::OtherCause, Reason::Illegal, Reason::Amount, Reason::NotFound];
    println!(
        "callbacks={} executed={} replayed={} set_aside={} overlaps={} charged_twice={} wrongly_refunded={} lost={}",
        tally.sum(|_| true),
        tally.sum(|answer| answer == Answer::Settled { verdict: Verdict::Executed, replay: false }),
        tally.replayed(),
        aside.into_iter().map(|reason| tally.sum(|answer| answer.sets_aside(reason))).sum::<usize>(),
        tally.overlaps,
        count(findings, Count::ChargedTwice),
        count(findings, Count::WronglyRefunded),
        count(findings, Count::Lost),
    );
}

fn heading(title: &str) {
    println!("━━ {title} {}\n", "━".repeat(usize::from(WIDTH) - 4 - title.chars().count()));
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(header);
    table
}

//! What the README shows is what happens: its SQL is what runs, and its compile error is what rustc says.

use idem_runtime::prelude::*;

const README: &str = include_str!("../README.md");

/// The machine of the README.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
#[transition(pay: Pending => Paid, set(trade_no: String))]
#[transition(ship: Paid => Shipped)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    #[state(terminal)]
    Shipped,
}

/// The lines of the first block that is neither Rust nor TOML.
fn shown() -> Vec<&'static str> {
    let (_, block) = README.split_once("```text\n").expect("the README has a block of text");
    block.lines().take_while(|line| *line != "```").collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_update_is_the_one_that_runs() {
    let update = words(&shown().join("\n"));
    let (update, _) = update.split_once(" -- ").expect("a comment ends the statement");
    let (name, pay) = OrderStatus::EVENTS[0];
    assert_eq!(name, "pay");
    let statement = words(pay.fire.of(Dialect::Postgres).sql);
    assert!(statement.contains(update), "{update}\nis not part of\n{statement}");
}

#[test]
fn the_compile_error_is_what_rustc_says() {
    let said = include_str!("ui/machine/readme.stderr");
    let error: Vec<_> = shown().into_iter().skip_while(|line| !line.starts_with("error")).take(4).collect();
    assert_eq!(error.len(), 4, "the README shows the head of the error");
    for line in error.iter().filter(|line| !line.contains("-->")) {
        assert!(said.lines().any(|said| said == *line), "{line}\nis not part of\n{said}");
    }
}

#[test]
fn the_first_thirty_lines_hold_it_all() {
    let first: String = README.lines().take(30).collect::<Vec<_>>().join("\n");
    for part in
        ["enum OrderStatus", "#[idempotent(", "// executed", "// replayed", "UPDATE orders", "error[E0277]", "lost=0"]
    {
        assert!(first.contains(part), "{part}");
    }
}

//! Machines with something wrong in them.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use crate::generate::{machine, maybe, one};

/// What is written in place of something else, or beside it.
const TOKENS: &[&str] = &[
    "",
    ",",
    ":",
    "=",
    "|",
    "=>",
    "->",
    "#",
    "!",
    "-",
    "::",
    "..",
    "<T>",
    "<'a, const N: usize>",
    "&",
    "'a",
    "_",
    "self",
    "Self",
    "crate",
    "super",
    "fn",
    "enum",
    "struct",
    "union",
    "pub",
    "where",
    "r#type",
    "now",
    "null",
    "set",
    "initial",
    "terminal",
    "rename",
    "table",
    "id",
    "status",
    "version",
    "history",
    "rename_all",
    "once",
    "name",
    "cause",
    "machine",
    "state",
    "transition",
    "Pending",
    "Paid",
    "pay",
    "order_id",
    "i64",
    "true",
    "()",
    "{}",
    "[]",
    "(A)",
    "{ a: i64 }",
    "(Pending, Paid)",
    "\"\"",
    "\" \"",
    "\"\\0\"",
    "\"a\\nb\"",
    "\"\\\\\"",
    "\".\"",
    "\"a.b\"",
    "\"..\"",
    "\"caused\"",
    "\"snake\"",
    "\"snake_case\"",
    "\"status\"",
    "\"\\u{202e}\"",
    "b\"x\"",
    "c\"x\"",
    "'c'",
    "b'c'",
    "0",
    "-1",
    "1.5",
    "0xff_u8",
    "1e999",
    "340282366920938463463374607431768211456",
    "99999999999999999999999999999999999999999999i64",
    "\"a name that has a few more than the sixty-three bytes that PostgreSQL keeps\"",
    "table = \"other\"",
    "id()",
    "id(a: i64, a: i64)",
    "history()",
    "set()",
    "set(a = now, a: i64)",
    "= 1",
    "= \"x\"",
    "(i64)",
    "{ x: i64 }",
    "#[state(initial)]",
    "#[state(terminal)]",
    "#[state]",
    "#[state = \"x\"]",
    "#[state()]",
    "#[machine]",
    "#[machine()]",
    "#[machine = 1]",
    "#[machine(history)]",
    "#[transition]",
    "#[transition()]",
    "#[transition(a)]",
    "#[transition(a: )]",
    "#[transition(a: Pending)]",
    "#[transition(a: Pending =>)]",
    "#[doc = 1]",
    "#[cfg(none)]",
];

/// The text of the machine of this number after one to three accidents.
pub(crate) fn broken(random: &mut ChaCha8Rng, seed: u64, number: u64) -> String {
    let item: TokenStream = machine(seed, number).source.parse().expect("a valid machine is made of tokens");
    let names = names(item.clone());
    let mut item: Vec<_> = item.into_iter().collect();
    for _ in 0..if maybe(random, 0.6) { 1 } else { random.random_range(2..=3) } {
        accident(random, &names, &mut item);
    }
    item.into_iter().collect::<TokenStream>().to_string()
}

/// Every name in it, as often as it is there.
fn names(item: TokenStream) -> Vec<Ident> {
    let of = |token| match token {
        TokenTree::Group(group) => names(group.stream()),
        TokenTree::Ident(ident) => vec![ident],
        TokenTree::Punct(_) | TokenTree::Literal(_) => Vec::new(),
    };
    item.into_iter().flat_map(of).collect()
}

/// Changes the list, or more often one of the groups in it.
fn accident(random: &mut ChaCha8Rng, names: &[Ident], tokens: &mut Vec<TokenTree>) {
    let groups: Vec<_> = (0..tokens.len()).filter(|at| matches!(tokens[*at], TokenTree::Group(_))).collect();
    if groups.is_empty() || maybe(random, 0.08) {
        change(random, names, tokens);
        return;
    }
    let at = one(random, &groups);
    let TokenTree::Group(group) = &tokens[at] else { return };
    let mut inner: Vec<_> = group.stream().into_iter().collect();
    accident(random, names, &mut inner);
    tokens[at] = grouped(group.delimiter(), inner);
}

fn grouped(delimiter: Delimiter, tokens: Vec<TokenTree>) -> TokenTree {
    TokenTree::Group(Group::new(delimiter, tokens.into_iter().collect()))
}

fn change(random: &mut ChaCha8Rng, names: &[Ident], tokens: &mut Vec<TokenTree>) {
    if tokens.is_empty() {
        tokens.extend(written(random));
        return;
    }
    let (at, other) = (random.random_range(0..tokens.len()), random.random_range(0..tokens.len()));
    match random.random_range(0..10) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(other, tokens[at].clone()),
        2 => tokens.swap(at, other),
        3 => tokens.truncate(at),
        4 => drop(tokens.splice(at..at, written(random))),
        5 => drop(tokens.splice(at..=at, written(random))),
        6 => tokens[at] = regrouped(random, &tokens[at]),
        _ => tokens[at] = misread(random, names, &tokens[at]),
    }
}

fn written(random: &mut ChaCha8Rng) -> TokenStream {
    one(random, TOKENS).parse().expect("the list holds tokens")
}

/// Another name, or the same in other letters; a text with a character more.
fn misread(random: &mut ChaCha8Rng, names: &[Ident], token: &TokenTree) -> TokenTree {
    match token {
        TokenTree::Ident(_) if maybe(random, 0.6) => names[random.random_range(0..names.len())].clone().into(),
        TokenTree::Ident(ident) => misspelt(random, &ident.to_string()).into(),
        TokenTree::Literal(literal) => {
            let character = one(random, &["\0", "\\", " ", "\u{7f}", "a", ".", "\u{85}"]);
            Literal::string(&format!("{character}{}", literal.to_string().trim_matches('"'))).into()
        }
        other => other.clone(),
    }
}

/// A letter more, or one less.
fn misspelt(random: &mut ChaCha8Rng, name: &str) -> Ident {
    let shorter: String = name.chars().take(name.chars().count() - 1).collect();
    let name = if maybe(random, 0.5) { shorter } else { format!("{name}x") };
    syn::parse_str(&name).unwrap_or_else(|_| Ident::new("x", Span::call_site()))
}

/// A group between other delimiters, anything else between some.
fn regrouped(random: &mut ChaCha8Rng, token: &TokenTree) -> TokenTree {
    let delimiter = one(random, &[Delimiter::Parenthesis, Delimiter::Brace, Delimiter::Bracket]);
    match token {
        TokenTree::Group(group) => grouped(delimiter, group.stream().into_iter().collect()),
        other => grouped(delimiter, vec![other.clone()]),
    }
}

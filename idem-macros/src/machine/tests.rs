use expect_test::{ExpectFile, expect_file};
use proc_macro2::TokenStream;
use quote::quote;

/// The whole expansion of a small machine; the SQL itself is checked in `sql::tests`.
#[test]
fn expansion() {
    check(
        quote! {
            #[machine(table = "doors", id(door_id: i64))]
            #[transition(unlock: Closed => Open, set(unlocked_by: String))]
            #[transition(lock: Open => Closed)]
            pub(crate) enum Door {
                #[state(initial)]
                Closed,
                Open,
            }
        },
        &expect_file!["tests/door.rs"],
    );
}

/// With a history, several sources, and what the status column can be.
#[test]
fn expansion_with_a_history() {
    check(
        quote! {
            #[machine(
                table = "shop.orders", id(tenant_id: i64, order_id: i64), history(cause = once),
                repr = native, rename_all = "snake_case", sqlx, display, module = order
            )]
            #[transition(pay: Pending => Paid, set(paid_at = now, trade_no: String))]
            #[transition(refund: Paid => Refunded)]
            pub enum OrderStatus {
                /// Nobody has paid.
                #[state(initial, alias = "new")]
                Pending,
                #[deprecated]
                Paid,
                #[state(terminal)]
                Refunded,
            }
        },
        &expect_file!["tests/order.rs"],
    );
}

/// Integers, and no version.
#[test]
fn expansion_of_integers() {
    check(
        quote! {
            #[machine(table = "seals", id(seal_id: i64), version = none, repr = int, crate = crate::other)]
            #[transition(press: Soft | Wet => Hard)]
            #[transition(dip: Soft => Wet)]
            enum Seal {
                #[state(initial)]
                Soft = 1,
                Wet = 2,
                #[state(terminal, value = 3, alias = 30)]
                Hard,
            }
        },
        &expect_file!["tests/seal.rs"],
    );
}

fn check(input: TokenStream, expected: &ExpectFile) {
    let file = syn::parse2(super::derive(input)).expect("the expansion is Rust");
    expected.assert_eq(&prettyplease::unparse(&file));
}

/// After an error the same, with what is known.
#[test]
fn fallback() {
    let input = quote! {
        #[machine(table = "doors", id(door_id: i64))]
        #[transition(unlock: Closed => Opne)]
        enum Door {
            #[state(initial)]
            Closed,
            Open,
        }
    };
    let expansion = super::derive(input).to_string();
    assert!(expansion.contains("unknown target state"));
    assert!(expansion.contains("type Target = door :: Open"));
}

/// S77: after an error about the graph the diagram is still there, to be looked at.
#[test]
fn the_diagram_of_a_broken_graph() {
    let input = quote! {
        #[machine(table = "doors", id(door_id: i64))]
        #[transition(unlock: Closed => Open)]
        #[transition(mend: Broken => Closed)]
        enum Door {
            #[state(initial)]
            Closed,
            Open,
            Broken,
        }
    };
    let expansion = super::derive(input).to_string();
    assert!(expansion.contains("state `Broken` is unreachable"), "{expansion}");
    let edges = ["[*] --> Closed", "Closed --> Open: unlock", "Broken --> Closed: mend"];
    let diagram = format!("mermaid : r\"stateDiagram-v2\n    {}\n\"", edges.join("\n    "));
    assert!(expansion.contains(&diagram), "{expansion}");
}

/// rustc reports it, and what the derive makes of each variant would be as many errors again.
#[test]
fn a_variant_that_is_there_twice_is_one_state() {
    let input = quote! {
        #[machine(table = "doors", id(door_id: i64))]
        #[transition(unlock: Closed => Open)]
        enum Door {
            #[state(initial)]
            Closed,
            #[state(terminal)]
            Open,
            #[state(terminal)]
            Open,
        }
    };
    let expansion = super::derive(input).to_string();
    assert_eq!(expansion.matches("struct Open").count(), 1, "{expansion}");
    assert!(!expansion.contains("compile_error"), "{expansion}");
}

/// An event repeats when its target can lead back to one of its sources.
#[test]
fn repeats() {
    let model = super::model_of(quote! {
        #[machine(table = "orders", id(order_id: i64))]
        #[transition(submit: Draft => Review)]
        #[transition(reject: Review => Draft)]
        #[transition(approve: Review => Approved)]
        #[transition(note: Approved => Approved)]
        #[transition(file: Approved | Review => Filed)]
        enum Paper {
            #[state(initial)]
            Draft,
            Review,
            Approved,
            #[state(terminal)]
            Filed,
        }
    });
    let repeats: Vec<_> = model.events.iter().filter(|event| event.repeats).map(super::model::Event::name).collect();
    assert_eq!(repeats, ["submit", "reject", "note"]);
}

/// S76: the table is data, so that rustc never checks a match on pairs of states: what is matched on is one state.
#[test]
fn s76_tables_are_data() {
    let states: Vec<_> = (0..100).map(|state| quote::format_ident!("State{state}")).collect();
    let events = (0..100).map(|event| {
        let (name, target) = (quote::format_ident!("event_{event}"), &states[event]);
        let sources = (1..=10).map(|step| &states[(event + step) % 100]);
        quote!(#[transition(#name: #(#sources)|* => #target)])
    });
    let (first, rest) = (&states[0], &states[1..]);
    let expansion = super::derive(quote! {
        #[machine(table = "large", id(id: i64))]
        #(#events)*
        enum Large { #[state(initial)] #first, #(#rest),* }
    })
    .to_string();
    let matches: Vec<_> = expansion.match_indices(" match ").map(|(at, _)| &expansion[at + 7..at + 20]).collect();
    assert_eq!(matches, ["state { Large", "self { Self :", "__row . state"]);
    assert_eq!(expansion.matches("Transition { event").count(), 1000);
}

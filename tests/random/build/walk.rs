//! How a row of a machine is made, moved and read, as text of Rust.

use crate::generate::{Event, Machine, Value};
use crate::tables;

/// A value of the type `Option<Walk>`.
pub(crate) fn walk(machine: &Machine) -> String {
    let (name, insert) = (machine.name, tables::insert_on_sqlite(machine));
    let row = format!("{name}::row({})", vec![DEFAULT; machine.id.len()].join(", "));
    let arms = machine.events.iter().map(|event| {
        let (name, event) = (event.name.trim_start_matches("r#"), fields(machine.module, event));
        format!("{name:?} => idem_random_machines::fired({row}.fire({event}).any_version().run(pool)),")
    });
    let (pool, arms) = (if machine.events.is_empty() { "_" } else { "pool" }, arms.collect::<String>());
    format!(
        "Some(idem_random_machines::Walk {{
            insert: {insert:?},
            edges: || idem_random_machines::edges({name}::allows),
            initial: || <{name} as StateMachine>::INITIAL.name(),
            load: |pool| idem_random_machines::loaded({row}.load(pool)),
            fire: |{pool}, event| match event {{ {arms} _ => panic!(\"there is no event {{event}}\") }},
        }})"
    )
}

const DEFAULT: &str = "::core::default::Default::default()";

fn fields(module: &str, event: &Event) -> String {
    let fields = event.sets.iter().filter(|set| matches!(set.value, Value::Field(_)));
    let fields: Vec<_> = fields.map(|set| format!("{}: {DEFAULT}", set.column)).collect();
    if fields.is_empty() {
        return format!("{module}::{}", event.type_name);
    }
    format!("{module}::{} {{ {} }}", event.type_name, fields.join(", "))
}

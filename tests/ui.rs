//! Compile errors, as users see them. `TRYBUILD=overwrite cargo test --test ui` renews the texts.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/machine/*.rs");
    cases.compile_fail("tests/ui/echo/*.rs");
    cases.compile_fail("tests/ui/idempotent/*.rs");
    cases.compile_fail("tests/ui/key_part/*.rs");
}

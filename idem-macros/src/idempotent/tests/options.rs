//! What each option adds to an expansion.

use expect_test::expect;
use proc_macro2::TokenStream;
use quote::quote;

use super::{attribute, check};

#[test]
fn every_option_and_arguments_that_each_run_has_for_itself() {
    check(
        quote! {
            scope = "order.pay",
            key = order_id,
            payload = other(y),
            wait = "500ms",
            retain(result = "7d", key = "30d"),
            record_err = PayError::is_final,
            rerun = 3,
            upgrade = Receipt::from_v1
        },
        quote! {
            async fn pay(
                &self,
                mut tx: &mut Tx<'_, Sqlite>,
                order_id: &str,
                #[cfg(unix)] mut count: u32,
                (a, mut b): (i64, i64),
                Point { x, mut y, z: &mut ref z }: Point,
                _: String,
            ) -> Result<Receipt, PayError> {
                self.charge(tx, a, b).await
            }
        },
        &expect![[r#"
            ///
            ///# Idempotent
            ///
            ///One effect for each `order_id` in the scope `order.pay`: the first call runs the body, every later one replays its
            ///result. Pass `&Idem<Sqlite>`, or `&mut *tx` inside of another idempotent body.
            ///
            ///```text
            ///async fn pay(&self, mut tx: &mut Tx<'_, Sqlite>, order_id: &str, #[cfg(unix)] mut count: u32, (a, mut b): (i64, i64), Point { x, mut y, z: &mut ref z }: Point, _: String) -> Result<Receipt, PayError>
            ///async fn pay(&self, tx: impl Begin<Sqlite>, order_id: &str, #[cfg(unix)] count: u32, (a, b): (i64, i64), Point { x, y, z: &mut ref z }: Point, _: String) -> Result<Receipt, PayError>
            ///```
            ///
            ///A duplicate of a running call waits for it, `500ms` at most.
            ///The result is kept for `7d`, the key for `30d`.
            ///An error that `PayError::is_final` says yes to is stored and replayed too, and nothing else of its call stays.
            ///When the database gives up its transaction, the body runs again, 3 times at most.
            ///A result of an older shape is made a new one by `Receipt::from_v1`.
            ///
            ///# Errors
            ///
            ///Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.
            async fn pay(
                &self,
                tx: impl ::idem_runtime::Begin<Sqlite>,
                order_id: &str,
                #[cfg(unix)]
                count: u32,
                (a, b): (i64, i64),
                Point { x, y, z: &mut ref z }: Point,
                _: String,
            ) -> Result<Receipt, PayError> {
                use ::idem_runtime::__private as __idem;
                const __SPEC: __idem::Spec = __idem::Spec::new("order.pay")
                    .wait_ms(500)
                    .retain_result_s(604_800)
                    .retain_key_s(2_592_000)
                    .rerun(3);
                let __codec = __idem::codec::<
                    Result<Receipt, PayError>,
                    __idem::OkOf<Result<Receipt, PayError>>,
                    __idem::ErrOf<Result<Receipt, PayError>>,
                >();
                let __codec = __idem::record_err::<
                    Result<Receipt, PayError>,
                    _,
                    __idem::ErrOf<Result<Receipt, PayError>>,
                >(__codec, PayError::is_final);
                let __codec = __idem::upgrade(__codec, Receipt::from_v1);
                let __key = __idem::Key::new();
                let __key = __idem::key_part(__key, &order_id);
                let __payload = __idem::Fingerprint::new();
                let __payload = __idem::payload_part(__payload, &other(y));
                let mut __opened = __idem::open(tx, &__SPEC, __key, __payload, &__codec).await;
                loop {
                    let mut __claimed = match __opened {
                        __idem::Opened::Run(__claimed) => __claimed,
                        __idem::Opened::Done(__result) => return __result,
                    };
                    let __inside = __claimed.inside();
                    let __out = {
                        let __tx = __claimed.tx();
                        let order_id = ::core::clone::Clone::clone(&order_id);
                        let _ = &order_id;
                        #[cfg(unix)]
                        let mut count = ::core::clone::Clone::clone(&count);
                        let a = ::core::clone::Clone::clone(&a);
                        let mut b = ::core::clone::Clone::clone(&b);
                        let x = ::core::clone::Clone::clone(&x);
                        let mut y = ::core::clone::Clone::clone(&y);
                        let _ = &y;
                        let z = ::core::clone::Clone::clone(&z);
                        __inside
                            .run(async move {
                                if false {
                                    return __idem::never::<Result<Receipt, PayError>>();
                                }
                                let mut tx: &mut Tx<'_, Sqlite> = ::core::convert::identity(__tx);
                                '__body: { self.charge(tx, a, b).await }
                            })
                            .await
                    };
                    __opened = __claimed.finish_or_rerun(__out, &__codec).await;
                }
            }
        "#]],
    );
}

/// Calls `order.pay` with the options; gives what is fixed of it, and what its documentation says about them.
fn fixed_and_documented(options: &TokenStream) -> [String; 2] {
    let item = quote! {
        async fn pay(tx: &mut Tx<'_, Sqlite>, id: i64) -> Result<i64, Error> {
            Ok(id)
        }
    };
    let file = syn::parse2(attribute(quote!(scope = "order.pay", key = id, #options), item)).expect("an expansion");
    let text = prettyplease::unparse(&file).replace("\n        .", ".");
    let between = |start: &str, end: &str| {
        let (_, behind) = text.split_once(start).unwrap_or_else(|| panic!("no {start} in {text}"));
        behind.split_once(end).unwrap_or_else(|| panic!("no {end} in {text}")).0.trim().to_owned()
    };
    let documented = between("///```\n///\n", "# Errors");
    [between("Spec::new(\"order.pay\")", ";"), documented.replace("///", "").trim().to_owned()]
}

#[test]
fn what_is_written_is_what_is_fixed() {
    let cases = [
        (quote!(), "", ""),
        (quote!(wait = "0s"), ".wait_ms(0)", "A duplicate of a running call does not wait for it."),
        (quote!(wait = "1m 30s"), ".wait_ms(90_000)", "A duplicate of a running call waits for it, `1m 30s` at most."),
        (quote!(retain(result = "7d")), ".retain_result_s(604_800)", "The result is kept for `7d`, the key for ever."),
        (
            quote!(retain(key = forever, result = "999s")),
            ".retain_result_s(999)",
            "The result is kept for `999s`, the key for ever.",
        ),
        (
            quote!(retain(key = "1h")),
            ".retain_result_s(3_600).retain_key_s(3_600)",
            "The result and the key are kept for `1h`.",
        ),
        (
            quote!(retain(result = "1d", key = "24h")),
            ".retain_result_s(86_400).retain_key_s(86_400)",
            "The result is kept for `1d`, the key for `24h`.",
        ),
        (quote!(retain(result = forever)), "", "The result is kept for ever, the key for ever."),
        (quote!(retain(key = forever)), "", "The result and the key are kept for ever."),
        (
            quote!(rerun = 100),
            ".rerun(100)",
            "When the database gives up its transaction, the body runs again, 100 times at most.",
        ),
    ];
    for (options, fixed, documented) in cases {
        assert_eq!(fixed_and_documented(&options), [fixed, documented], "{options}");
    }
}

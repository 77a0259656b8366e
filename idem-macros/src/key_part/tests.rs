//! Expansions, as a person would read them.

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;
use quote::quote;

use super::derive;

fn check(input: TokenStream, expected: &Expect) {
    let file = syn::parse2(derive(input)).expect("an expansion is a list of items");
    expected.assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn a_newtype_is_written_as_its_field() {
    check(
        quote!(
            struct OrderId {
                raw: i64,
            }
        ),
        &expect![[r"
            const _: () = {
                use ::idem_runtime as _idem;
                #[automatically_derived]
                impl _idem::__private::KeyPart for OrderId {
                    fn write(&self, __part: &mut _idem::__private::Part) {
                        <i64 as _idem::__private::KeyPart>::write(&self.raw, __part)
                    }
                }
            };
        "]],
    );
}

#[test]
fn a_generic_newtype_asks_its_field() {
    check(
        quote!(
            #[key(crate = rt)]
            struct Id<'a, T: ?Sized, M>(&'a T, PhantomData<M>)
            where
                M: Model;
        ),
        &expect![[r"
            const _: () = {
                use rt as _idem;
                #[automatically_derived]
                impl<'a, T: ?Sized, M> _idem::__private::KeyPart for Id<'a, T, M>
                where
                    M: Model,
                    &'a T: _idem::__private::KeyPart,
                {
                    fn write(&self, __part: &mut _idem::__private::Part) {
                        <&'a T as _idem::__private::KeyPart>::write(&self.0, __part)
                    }
                }
            };
        "]],
    );
}

#[test]
fn a_variant_is_its_name_or_its_rename() {
    check(
        quote!(
            enum Channel {
                AliPay,
                #[deprecated]
                #[key(rename = "wx")]
                WeChat,
                r#Self_,
            }
        ),
        &expect![[r#"
            #[allow(deprecated)]
            const _: () = {
                use ::idem_runtime as _idem;
                #[automatically_derived]
                impl _idem::__private::KeyPart for Channel {
                    fn write(&self, __part: &mut _idem::__private::Part) {
                        _idem::__private::Part::text(
                            __part,
                            match self {
                                Self::AliPay => "AliPay",
                                Self::WeChat => "wx",
                                Self::r#Self_ => "Self_",
                            },
                        )
                    }
                }
            };
        "#]],
    );
}

#[test]
fn after_errors_the_type_is_still_a_part() {
    check(
        quote!(
            struct Order<T> {
                tenant: T,
                order: i64,
            }
        ),
        &expect![[r#"
            ::core::compile_error! {
                "`Order` has 2 fields, and a part of a key is one value\nhelp: name them as parts of the key: `key = (order.tenant, order.order)`"
            }
            const _: () = {
                use ::idem_runtime as _idem;
                #[automatically_derived]
                impl<T> _idem::__private::KeyPart for Order<T> {
                    fn write(&self, __part: &mut _idem::__private::Part) {
                        let _ = __part;
                        ::core::panic!()
                    }
                }
            };
        "#]],
    );
}

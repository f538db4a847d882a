// SPDX-License-Identifier: Apache-2.0
// C++ names, and functions that carry Rust's two manglings.
#include "workload.h"
namespace shop {
template <typename T>
struct Basket {
  NOINLINE void total(T rounds) const { burn(rounds); }
};
template struct Basket<long>;
}  // namespace shop
extern "C" {
NOINLINE void rust_legacy(void) __asm__("_ZN5bread4oven4bake17h0123456789abcdefE");
NOINLINE void rust_v0(void) __asm__("_RNvNtC5bread4oven5knead");
void rust_legacy(void) { burn(200000); }
void rust_v0(void) { burn(200000); }
}
int main(int argc, char** argv) {
  begin(argc, argv);
  puts("order main;~shop::Basket<long>::total\\(long\\) const");
  puts("order main;~bread::oven::bake(::h[0-9a-f]{16})?");
  puts("order main;bread::oven::knead");
  puts("complete");
  const shop::Basket<long> basket;
  while (running()) {
    basket.total(200000);
    rust_legacy();
    rust_v0();
  }
}

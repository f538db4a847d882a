// SPDX-License-Identifier: Apache-2.0
// A library with 500 functions that call each other through the PLT: every load binds them lazily, again.
#define F(n) void many_##n(void) {}
#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define H(n) T(n##0) T(n##1) T(n##2) T(n##3) T(n##4) T(n##5) T(n##6) T(n##7) T(n##8) T(n##9)
H(1) H(2) H(3) H(4) H(5)
#undef F
#define F(n) many_##n();
void bind_all(void) {
  H(1) H(2) H(3) H(4) H(5)
  __asm__ volatile("" ::: "memory");  // no call becomes a jump
}

// SPDX-License-Identifier: Apache-2.0
// OpenSSL's hand-written assembly: digests, ciphers, big numbers, curves. By dlsym: its headers are not needed.
#include <dlfcn.h>
#include <unistd.h>

#include "workload.h"
static void *crypto;
static void *find(const char *name) {
  void *found = dlsym(crypto, name);
  if (found == NULL) abort();
  return found;
}
typedef unsigned char *(*digest)(const unsigned char *, size_t, unsigned char *);
static unsigned char bytes[1 << 15], out[1 << 15];

NOINLINE void digests(void) {
  static const char *const names[] = {"MD5", "SHA1", "SHA256", "SHA512"};
  for (int i = 0; i < 4; i++) ((digest)find(names[i]))(bytes, sizeof bytes, out);
  NO_TAIL_CALL();
}
NOINLINE void ciphers(void) {
  static const char *const names[] = {"EVP_aes_128_cbc", "EVP_aes_256_gcm", "EVP_chacha20_poly1305", "EVP_camellia_128_cbc"};
  for (int i = 0; i < 4; i++) {
    void *context = ((void *(*)(void))find("EVP_CIPHER_CTX_new"))();
    const void *cipher = ((const void *(*)(void))find(names[i]))();
    int size = 0;
    ((int (*)(void *, const void *, void *, const void *, const void *))find("EVP_EncryptInit_ex"))(context, cipher, NULL, bytes, bytes);
    ((int (*)(void *, void *, int *, const void *, int))find("EVP_EncryptUpdate"))(context, out, &size, bytes, (1 << 15) - 64);
    ((void (*)(void *))find("EVP_CIPHER_CTX_free"))(context);
  }
  NO_TAIL_CALL();
}
NOINLINE void numbers(int bits) {
  void *(*number)(void) = (void *(*)(void))find("BN_new");
  void (*destroy)(void *) = (void (*)(void *))find("BN_free");
  int (*set)(const void *, int, void *) = (int (*)(const void *, int, void *))find("BN_bin2bn");
  void *context = ((void *(*)(void))find("BN_CTX_new"))();
  void *base = number(), *power = number(), *modulus = number(), *result = number();
  set(bytes + 1, bits / 8, base);
  set(bytes + 2, bits / 8, power);
  set(bytes + 3, bits / 8, modulus);
  ((int (*)(void *, int))find("BN_set_bit"))(modulus, 0);
  ((int (*)(void *, int))find("BN_set_bit"))(modulus, bits - 1);
  ((int (*)(void *, const void *, const void *, const void *, void *, void *))find("BN_mod_exp_mont_consttime"))(result, base, power, modulus, context, NULL);
  destroy(base), destroy(power), destroy(modulus), destroy(result);
  ((void (*)(void *))find("BN_CTX_free"))(context);
  NO_TAIL_CALL();
}
NOINLINE void curves(void) {
  void *group = ((void *(*)(int))find("EC_GROUP_new_by_curve_name"))(415);  // P-256
  void *point = ((void *(*)(const void *))find("EC_POINT_new"))(group);
  void *scalar = ((void *(*)(void))find("BN_new"))();
  ((int (*)(const void *, int, void *))find("BN_bin2bn"))(bytes + 5, 31, scalar);
  for (int i = 0; i < 20; i++) {
    ((int (*)(const void *, void *, const void *, const void *, const void *, void *))find("EC_POINT_mul"))(group, point, scalar, NULL, NULL, NULL);
  }
  ((void (*)(void *))find("BN_free"))(scalar);
  ((void (*)(void *))find("EC_POINT_free"))(point);
  ((void (*)(void *))find("EC_GROUP_free"))(group);
  NO_TAIL_CALL();
}
NOINLINE void call_openssl(void) {
  digests();
  ciphers();
  numbers(1024);
  numbers(2048);
  curves();
  NO_TAIL_CALL();
}
int main(int argc, char **argv) {
  crypto = dlopen("libcrypto.so.3", RTLD_NOW);
  if (crypto == NULL) return 77;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 131 + i / 7 + 1);
  begin(argc, argv);
  puts("through main;call_openssl;~digests|ciphers|numbers|curves;~libcrypto\\.so\\.3\\+0x.*|(MD5|SHA|EVP|BN|EC|AES)[_0-9A-Za-z]*");
  puts("share call_openssl 95");
  puts("complete");
  while (running()) call_openssl();
  _exit(0);  // not through OpenSSL's own exit handlers
}

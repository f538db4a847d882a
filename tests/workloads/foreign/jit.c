// SPDX-License-Identifier: Apache-2.0
// The native half of Jit.java.
#include <jni.h>
__attribute__((noinline)) void native_work(int rounds) {
  for (int i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}
JNIEXPORT void JNICALL Java_Jit_leaf(JNIEnv *env, jclass type, jint rounds) {
  (void)env, (void)type;
  native_work(rounds);
  __asm__ volatile("" ::: "memory");
}
JNIEXPORT void JNICALL Java_Jit_through(JNIEnv *env, jclass type, jint rounds) {
  jmethodID back = (*env)->GetStaticMethodID(env, type, "back", "(I)V");
  (*env)->CallStaticVoidMethod(env, type, back, rounds);
  __asm__ volatile("" ::: "memory");
}

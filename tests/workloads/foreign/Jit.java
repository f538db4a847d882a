// SPDX-License-Identifier: Apache-2.0
// JIT code, JNI, JIT code again, JNI. Run with -XX:+PreserveFramePointer.
public class Jit {
  static native void through(int rounds);
  static native void leaf(int rounds);
  static int sink;
  static void back(int rounds) {
    for (int i = 0; i < 100; i++) sink += i ^ rounds;
    leaf(rounds);
  }
  public static void main(String[] arguments) {
    System.load(arguments[0]);
    double seconds = arguments.length > 1 ? Double.parseDouble(arguments[1]) : 2;
    for (int i = 0; i < 300_000; i++) through(10);
    System.out.println("through ~JavaCalls::call_helper.*;Java_Jit_through;~jni_.*|.*jni_invoke_static.*;~JavaCalls::call_helper.*;Java_Jit_leaf;native_work");
    System.out.println("share native_work 80");
    System.out.println("complete");
    long end = System.nanoTime() + (long) (seconds * 1e9);
    while (System.nanoTime() < end) through(100000);
  }
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# leaves in /tmp: hsperfdata_*
# Java, JNI, Java, JNI: JIT code by frame pointer, libjvm by its tables.
source "$(dirname "$0")/lib.sh"
record_foreign java

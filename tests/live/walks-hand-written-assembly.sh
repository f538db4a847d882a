#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A CFA expression as in OpenSSL's assembly.
source "$(dirname "$0")/lib.sh"
record_truth -- hand_written 1

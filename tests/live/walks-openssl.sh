#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenSSL's own assembly: digests, ciphers, big numbers, curves.
source "$(dirname "$0")/lib.sh"
record_foreign openssl

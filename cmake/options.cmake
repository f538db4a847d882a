# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers and the compiler cache: what every target shares.
option(CICADA_WERROR "warnings are errors" OFF)
set(CICADA_SANITIZE "" CACHE STRING "address,undefined or thread; empty for none")
option(CICADA_FUZZ "build the libFuzzer targets (clang only)" OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Paths below the checkout are hashed relative to it: a fresh clone (CI) finds what another clone has compiled. Of a precompiled header
  # only what went into it counts (cmake/precompiled.cmake), not its bytes.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -fno-omit-frame-pointer
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CICADA_WERROR)
  add_compile_options(-Werror)
endif()
if(CICADA_SANITIZE)
  add_compile_options(-fsanitize=${CICADA_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CICADA_SANITIZE})
  if(CICADA_SANITIZE MATCHES address)
    add_compile_options(-fno-sanitize=null,object-size)  # which AddressSanitizer sees, too: a fifth of the compiler's time
  endif()
endif()
if(CICADA_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# SPDX-License-Identifier: Apache-2.0
# Two precompiled headers, of what is not ours: one for the modules, one for their tests. A file includes what it uses all the same; clang
# compiles without them (CMAKE_DISABLE_PRECOMPILE_HEADERS in its presets) and so finds what was forgotten.
set(standard <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <deque> <filesystem> <functional> <map> <memory> <mutex>
    <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <vector> <fmt/format.h>)

# add_precompiled(NAME LIBS targets… HEADERS <header>…): `use_precompiled(TARGET NAME)` is the other half.
function(add_precompiled NAME)
  cmake_parse_arguments(P "" "" "LIBS;HEADERS" ${ARGN})
  file(CONFIGURE OUTPUT ${NAME}.cc CONTENT "")
  add_library(${NAME} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.cc)
  target_link_libraries(${NAME} PRIVATE ${P_LIBS})
  target_precompile_headers(${NAME} PRIVATE ${P_HEADERS})
  # What ccache hashes instead of the compiled header, which differs between two builds of the same.
  string(SHA256 sum "${CMAKE_CXX_COMPILER_VERSION} ${fmt_VERSION} ${GTest_VERSION} ${P_HEADERS}")
  file(CONFIGURE OUTPUT CMakeFiles/${NAME}.dir/cmake_pch.hxx.gch.sum CONTENT "${sum}")
endfunction()

add_precompiled(modules_pch LIBS fmt::fmt HEADERS ${standard})
add_precompiled(tests_pch LIBS fmt::fmt GTest::gmock HEADERS ${standard} <gmock/gmock.h> <gtest/gtest.h>)
# Tests are compiled once and run for seconds.
set(test_options -O0)
if(NOT CICADA_SANITIZE)
  list(APPEND test_options -g0)
endif()
target_compile_options(tests_pch PRIVATE ${test_options})

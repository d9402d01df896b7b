# Writes OUT: the kernels in SOURCES that wait for their predecessor in their first statement, by symbol.
# cmake "-DSOURCES=a.cu;b.cuh" -DOUT=waiting_kernel_list.h -P waiting_kernels.cmake
set(count 0)
set(lines "")
foreach(source IN LISTS SOURCES)
  file(READ "${source}" text)
  # Both mean something in a list of CMake.
  string(REGEX REPLACE "[][]" " " text "${text}")
  string(REPLACE ";" "~" text "${text}")
  string(REGEX MATCHALL
         "[a-z0-9_]+_kernel\\([^~{}]*\\) *{[ \n]*(let_successor_start\\(\\)~[ \n]*)?wait_for_predecessor\\(\\)~"
         found "${text}")
  foreach(one IN LISTS found)
    string(REGEX MATCH "^[a-z0-9_]+" name "${one}")
    string(LENGTH "${name}" length)
    string(APPEND lines "    \"${length}${name}\",\n")
    math(EXPR count "${count} + 1")
  endforeach()
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "No kernel in ${SOURCES} begins with wait_for_predecessor()")
endif()
file(WRITE "${OUT}" "// Written by kernels/common/waiting_kernels.cmake when the sources of the kernels change.
#pragma once

#include <array>
#include <string_view>

namespace kernels {

/// As in a mangled symbol: length, then name.
inline constexpr std::array<std::string_view, ${count}> kWaitingKernels = {
${lines}};

}  // namespace kernels
")

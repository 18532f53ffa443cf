# SPDX-License-Identifier: MIT
# What strategies must not be able to say: whoever only holds a view can pass it on and cut it, and not look inside.
#   cmake -DCOMPILER=c++ -DSOURCE=<repository> -P tests/refusals.cmake
# Every line of tests/refusals/view.cc is there once; only the expression differs, so that a line that is refused is
# refused for its expression and not for what is around it: the first ones have to compile.
cmake_minimum_required(VERSION 3.25)
set(failures "")

# tried(expression error): the compiler must say this of it; with an empty error it must say nothing.
function(tried expression error)
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${SOURCE}/include "-DTRIED=${expression}"
                          ${SOURCE}/tests/refusals/view.cc
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  if(error STREQUAL "" AND NOT status EQUAL 0)
    set(failures "${failures}\n${expression} must compile, and the compiler says:\n${said}" PARENT_SCOPE)
  elseif(NOT error STREQUAL "" AND status EQUAL 0)
    set(failures "${failures}\n${expression} must not compile, and it does" PARENT_SCOPE)
  elseif(NOT said MATCHES "${error}")
    set(failures "${failures}\n${expression} is refused, but not with '${error}':\n${said}" PARENT_SCOPE)
  endif()
endfunction()

tried("x.first(2)" "")
tried("tacit::part(x, {0, 1})" "")
tried("x.host()[0]" "")
tried("tacit::kernels::norm2(x)" "")
set(no_operator "operator\\[\\]|subscript")  # as GCC and as clang put it
tried("x[0]" "${no_operator}")
tried("tacit::ConstFloatView(x)[0]" "${no_operator}")
tried("tacit::Buffer(x).view()[0]" "${no_operator}")
tried("x.begin()" "begin")
tried("x.end()" "end")
tried("x.data()" "data")
tried("*x" "operand|operator")
tried("std::vector<float>(x)" "conver|match")
tried("std::span<float>(x)" "conver|match")

if(NOT failures STREQUAL "")
  message(FATAL_ERROR "${failures}")
endif()

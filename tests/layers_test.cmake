cmake_minimum_required(VERSION 3.25)
# That layers.cmake finds what it is for, and only that: it is run on a small tree with one of each.
#   cmake -DWORK=... -P layers_test.cmake
file(REMOVE_RECURSE ${WORK})
function(source path text)
  file(WRITE ${WORK}/${path} "${text}")
endfunction()
set(type "namespace tacit {\n\nstruct Twice {\n};\n\n}  // namespace tacit\n")
source(src/core/twice.h "${type}")
source(src/runlog/twice.cc "${type}")
source(src/core/up.cc "#include \"tacit/train/model.h\"\n")
source(src/core/shadow.cc "namespace tacit {\nnamespace {\n\nclass Twice final : public Base {\n};\n\n}  // namespace\n}  // namespace tacit\n")
source(src/core/unnamed.h "namespace tacit {\nnamespace {\n\nenum class Colour { kRed };\n\n}  // namespace\n}  // namespace tacit\n")
string(REPEAT "//\n" 201 long)
source(include/tacit/core/long.h "${long}")
source(src/strategies/short_enough.cc "//\n")
source(src/strategies/looks.cc "// not std::vector<float>\nfloat f(FloatView x) { return x.host()[0]; }\n")
source(src/means/keeps.cc "std::vector<float> kept_;\n")
source(src/sim/asks.cc "if (&x.space() == &phantom_space()) return;\n")
# Legal: a declaration, the same name in another namespace, in two unnamed ones and in another class.
source(src/core/legal.h "namespace tacit {\n\nclass Twice;\nenum class Colours : int;\n\n}  // namespace tacit\n")
source(src/core/other.h "namespace tacit::sim {\n\nstruct Twice {\n};\nclass Outer::Twice {\n};\n\n}  // namespace tacit::sim\n")
foreach(file a b)
  source(src/core/${file}.cc "namespace tacit {\nnamespace {\n\nstruct Own {\n};\n\n}  // namespace\n}  // namespace tacit\n")
endforeach()
source(src/core/locks.h "namespace tacit {\n\nclass TACIT_CAPABILITY(x(\"y\")) Lock {\n};\nclass TACIT_CAPABILITY(x(\"y\")) Latch {\n};\n\n}  // namespace tacit\n")

execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${WORK} -P ${CMAKE_CURRENT_LIST_DIR}/layers.cmake
                RESULT_VARIABLE status ERROR_VARIABLE said)
set(expected
    "src/core/up.cc includes tacit/train/model.h: layer 'core' may not use 'train'"
    "src/runlog/twice.cc defines tacit::Twice, which src/core/twice.h defines: in one program the linker mixes them up"
    "tacit::Twice in src/core/shadow.cc is in an unnamed namespace, and src/core/twice.h has a type of that name"
    "src/core/unnamed.h has an unnamed namespace"
    "src/strategies/looks.cc looks into a vector"
    "src/means/keeps.cc looks into a vector"
    "src/sim/asks.cc asks for phantoms"
    "include/tacit/core/long.h has 201 lines where 200 is the limit"
    "files were checked: is SOURCE right")
if(status EQUAL 0)
  message(FATAL_ERROR "nothing was found")
endif()
foreach(line IN LISTS expected)
  string(FIND "${said}" "${line}" where)
  if(where EQUAL -1)
    message(FATAL_ERROR "not found: ${line}\n${said}")
  endif()
endforeach()
string(REGEX MATCHALL "\n    [a-z]" found "${said}")
list(LENGTH found findings)
list(LENGTH expected wanted)
if(NOT findings EQUAL wanted)
  message(FATAL_ERROR "${findings} findings where ${wanted} are to be found:\n${said}")
endif()
message(STATUS "all ${wanted} findings, and no other")

# Makes the Debian packages, unpacks them into ${WORK}/unpacked and checks what they have and say. tests/package/bare_debian
# installs them on a bare system, which takes longer and needs a network.
run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -B ${WORK}/packages)
file(GLOB packages ${WORK}/packages/*.deb)

# read(package field out): a field of a package, by name without version.
function(read package field out)
  file(GLOB file ${WORK}/packages/${package}_*.deb)
  execute_process(COMMAND dpkg-deb -f ${file} ${field} OUTPUT_VARIABLE value OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${value}" PARENT_SCOPE)
endfunction()

# Every file that cmake --install would install is in one package, and in no second one.
set(packed "")
file(MAKE_DIRECTORY ${WORK}/each)
foreach(package IN LISTS packages)
  cmake_path(GET package STEM LAST_ONLY name)  # name_version_architecture
  run(dpkg-deb -x ${package} ${WORK}/each/${name})
  run(dpkg-deb -x ${package} ${WORK}/unpacked)
  file(GLOB_RECURSE files RELATIVE ${WORK}/each/${name}/usr ${WORK}/each/${name}/*)
  list(APPEND packed ${files})
endforeach()
file(GLOB_RECURSE installed RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
list(SORT packed)
list(SORT installed)
if(NOT packed STREQUAL installed)
  set(missing ${installed})
  list(REMOVE_ITEM missing ${packed})
  list(REMOVE_ITEM packed ${installed})
  message(FATAL_ERROR "Packages lack ${missing} of what is installed and have ${packed} on top (or a file twice)")
endif()

foreach(package IN LISTS packages)
  cmake_path(GET package FILENAME name)
  string(REGEX REPLACE "_.*" "" name ${name})
  read(${name} Version version)
  if(NOT version STREQUAL VERSION)
    message(FATAL_ERROR "The package ${name} has version ${version} and the project ${VERSION}")
  endif()
endforeach()
read(tacit Depends needs)
if(NOT needs MATCHES "libc6" OR needs MATCHES "torch")
  message(FATAL_ERROR "The program must name the libraries it needs, and LibTorch is none of them: ${needs}")
endif()
if(COMPONENTS MATCHES torch)
  read(tacit-torch Depends needs)
  if(NOT needs MATCHES "libtorch" OR NOT needs MATCHES "tacit \\(= ${VERSION}\\)")
    message(FATAL_ERROR "The module for LibTorch needs LibTorch and the program it was built with: ${needs}")
  endif()
  # Without it the program says what to install.
  file(GLOB alone ${WORK}/each/tacit_*/usr/bin/tacit)
  execute_process(COMMAND ${alone} train --model cnn --data synthetic --steps 1
                  RESULT_VARIABLE code ERROR_VARIABLE said)
  if(NOT code EQUAL 2 OR NOT said MATCHES "install tacit-torch")
    message(FATAL_ERROR "Without its module for LibTorch the program ended with ${code} and: ${said}")
  endif()
endif()

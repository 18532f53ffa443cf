cmake_minimum_required(VERSION 3.25)
# Installs the build tree into an empty prefix, or unpacks the Debian packages of it where they can be made, builds
# consumers against that and lets the program find its modules there.
#   cmake -DBUILD=... -DWORK=... -DSOURCE=... -DCOMPONENTS=... -DVERSION=... -P run.cmake
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
set(prefix ${WORK}/prefix)
find_program(SHLIBDEPS dpkg-shlibdeps)
if(SHLIBDEPS)
  include(${SOURCE}/packages.cmake)
  set(prefix ${WORK}/unpacked/usr)
endif()
file(CREATE_LINK ${prefix} ${WORK}/used SYMBOLIC)  # for other tests

run(${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/build -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    -DCOMPONENTS=${COMPONENTS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
set(train --data synthetic:samples=40,test=10 --batch 4 --steps 1 --quiet)
if(COMPONENTS MATCHES sim)
  run(${WORK}/build/sim_consumer)
  run(${prefix}/bin/tacit simulate --cluster demo-8 --workers 2 --model logistic ${train})
  run(${CMAKE_COMMAND} -E chdir ${WORK} ${prefix}/bin/tacit simulate --cluster demo-8 --model logistic ${train})
endif()
if(COMPONENTS MATCHES torch)
  run(${WORK}/build/torch_consumer)
  run(${prefix}/bin/tacit train --model cnn ${train})
endif()

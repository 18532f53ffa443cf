cmake_minimum_required(VERSION 3.25)
# Installs the build tree into an empty prefix and builds a consumer against it.
#   cmake -DBUILD=... -DWORK=... -DSOURCE=... -DCOMPONENTS=... -P run.cmake
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/build -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCOMPONENTS=${COMPONENTS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
if(COMPONENTS MATCHES torch)
  run(${WORK}/build/torch_consumer)
endif()

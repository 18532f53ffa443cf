cmake_minimum_required(VERSION 3.25)
# tacit train as the processes of mpirun, beside the same run as threads.
#   cmake -DTACIT=... -DMPIRUN=... -DSLOW_DISK=... -DWORK=... -P train.cmake
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(data synthetic:samples=640,test=64,size=28,noise=0.1)
set(common train --model mlp:hidden=64 --batch 8 --quiet)  # large enough for messages of both kinds

# run(RESULT_PREFIX command...) sets prefix_code, prefix_out and prefix_err.
function(run prefix)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE out
                  ERROR_VARIABLE err TIMEOUT 120)
  foreach(name IN ITEMS code out err)
    set(${prefix}_${name} "${${name}}" PARENT_SCOPE)
  endforeach()
endfunction()
function(expect what)
  if(NOT (${ARGN}))
    message(FATAL_ERROR "${what}\n${got_code}\n${got_out}\n${got_err}")
  endif()
endfunction()

foreach(strategy IN ITEMS ssgd ssgd:servers=2 local:period=3 dc_s3gd:resync=7 ssd:warmup=5,delay=3
        compskip:skip=period:3,server_skip=period:2)
  set(args ${common} --strategy ${strategy} --data ${data} --steps 40 --json)
  run(want ${TACIT} ${args} --workers 4)
  run(got ${MPIRUN} -n 4 ${TACIT} ${args} --out run --overwrite)
  expect("mpirun failed" got_code EQUAL 0)
  string(JSON want_hash GET "${want_out}" weights_hash)
  string(JSON got_hash GET "${got_out}" weights_hash)
  string(JSON got_world GET "${got_out}" world)
  string(JSON got_workers GET "${got_out}" workers)
  string(JSON want_payload GET "${want_out}" bytes_payload)
  string(JSON got_payload GET "${got_out}" bytes_payload)
  expect("${strategy}: other weights than with threads" want_hash STREQUAL got_hash)
  expect("${strategy}: other bytes than with threads" want_payload STREQUAL got_payload)
  expect("not a world of 4 over MPI" got_world STREQUAL "mpi" AND got_workers EQUAL 4)
  expect("rank 0 left no run log" EXISTS ${WORK}/run/run.jsonl)
endforeach()

# Ranks that wait for nobody end with weights of no run before; equal on all ranks, or the run has failed.
foreach(strategy IN ITEMS gossip gossip:mode=push,push_sum wagma:period=5)
  run(got ${MPIRUN} -n 4 ${TACIT} ${common} --strategy ${strategy} --data ${data} --steps 40 --json)
  expect("${strategy} failed over MPI" got_code EQUAL 0)
endforeach()

run(got ${MPIRUN} -n 4 ${TACIT} ${common} --data ${data} --steps 40 --json --collectives native)
expect("native collectives failed" got_code EQUAL 0)

# Who says that ranks were found, and how.
run(got ${MPIRUN} -n 2 ${TACIT} train --model mlp:hidden=8 --batch 8 --data ${data} --steps 3)
expect("nobody says how ranks were found" got_err MATCHES "tacit: 2 ranks over MPI, as [A-Z_]+ and [A-Z_]+ say")
run(got ${MPIRUN} -n 2 ${TACIT} ${common} --data ${data} --steps 3 --workers 3)
expect("another number of workers was taken" got_err MATCHES "--workers 3")
expect("another number of workers is not the user's to mend" got_code EQUAL 2)

# A rank that cannot begin: its own line, the others' loss, and rank 0's account, which the others wait for.
set(slowly ${CMAKE_COMMAND} -E env LD_PRELOAD=${SLOW_DISK})
foreach(collectives IN ITEMS tacit native)
  set(args ${common} --steps 40 --collectives ${collectives} --data)
  run(got ${MPIRUN} -n 1 ${slowly} ${TACIT} ${args} fashion-mnist --out failed-${collectives} :
      -n 1 ${TACIT} ${args} fashion-mnist:path=nowhere : -n 1 ${TACIT} ${args} fashion-mnist)
  expect("a run without rank 1's data went well" got_code EQUAL 2 OR got_code EQUAL 3)
  expect("rank 0 does not say whom it lost" got_err MATCHES "tacit: rank 0 lost rank 1: .*the folder nowhere is missing")
  expect("rank 1 does not say what is wrong" got_err MATCHES "tacit: data set fashion.mnist: the folder nowhere is missing")
  file(READ ${WORK}/failed-${collectives}/summary.json summary)
  string(JSON got_status GET "${summary}" status)
  expect("rank 0's account" got_status STREQUAL "failed")
endforeach()

# The LibTorch adapter. Torch's own package file asks for tools that its Debian package does not need, so the
# libraries are looked up here.
find_path(TACIT_TORCH_INCLUDE torch/csrc/api/include/torch/torch.h)
find_library(TACIT_TORCH_LIBRARY torch)
find_library(TACIT_TORCH_CPU_LIBRARY torch_cpu)
find_library(TACIT_C10_LIBRARY c10)
if(NOT TACIT_TORCH_INCLUDE OR NOT TACIT_TORCH_CPU_LIBRARY OR NOT TACIT_C10_LIBRARY)
  message(STATUS "LibTorch was not found: building without tacit::torch and without the models cnn and resnet*. "
                 "Install libtorch-dev, or say -DTACIT_TORCH=OFF to keep it so.")
  set(TACIT_TORCH OFF)
  return()
endif()

add_library(tacit_libtorch INTERFACE)
target_include_directories(tacit_libtorch SYSTEM INTERFACE ${TACIT_TORCH_INCLUDE}
                           ${TACIT_TORCH_INCLUDE}/torch/csrc/api/include)
target_link_libraries(tacit_libtorch INTERFACE ${TACIT_TORCH_LIBRARY} ${TACIT_TORCH_CPU_LIBRARY} ${TACIT_C10_LIBRARY})
set_target_properties(tacit_libtorch PROPERTIES EXPORT_NAME libtorch)
set_property(GLOBAL APPEND PROPERTY TACIT_LIBRARIES tacit_libtorch)
add_library(tacit::libtorch ALIAS tacit_libtorch)

tacit_library(torch
  SOURCES src/adapters/torch/check_optimizer.cc src/adapters/torch/checkpoints.cc src/adapters/torch/flat_module.cc
          src/adapters/torch/flat_optimizer.cc src/adapters/torch/flat_state.cc src/adapters/torch/gradient_hooks.cc
          src/adapters/torch/inner_step.cc src/adapters/torch/micro_batches.cc src/adapters/torch/model_file.cc
          src/adapters/torch/models.cc src/adapters/torch/nets.cc src/adapters/torch/optimizer_name.cc src/adapters/torch/overlap.cc
          src/adapters/torch/rank_sampler.cc src/adapters/torch/replica.cc src/adapters/torch/replicated.cc
          src/adapters/torch/resnet.cc
          src/adapters/torch/world_for.cc src/adapters/torch/roll_call.cc src/adapters/torch/settings_of.cc
          src/adapters/torch/torch_worker.cc src/adapters/torch/weight_sample.cc
  DEPS train strategies libtorch)
# Torch's headers take a minute of compiling per file; parsed once they take seconds.
target_precompile_headers(tacit_torch PRIVATE <torch/torch.h>)
target_compile_options(tacit_torch PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache

# tacit_torch_executable(name sources...): a program with Torch headers, compiled like tacit::torch so that it can use
# the same precompiled header (g++ wants -fPIC on both sides).
function(tacit_torch_executable name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE tacit::torch tacit_warnings)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_precompile_headers(${name} REUSE_FROM tacit_torch)
endfunction()
list(APPEND tacit_components torch)

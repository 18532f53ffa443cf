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

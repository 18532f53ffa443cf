# cpack makes Debian packages: `tacit` with the program, `tacit-torch` with its module for LibTorch, which would be most of
# its disk space, and `libtacit-dev` for programs that link Tacit. What is installed without a COMPONENT is the program's.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tacit)
set(CPACK_PACKAGE_VENDOR "the Tacit authors")
set(CPACK_PACKAGE_CONTACT "the Tacit authors <authors@tacit.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # libraries that the program and its modules load: the packages that have them

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtacit-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers, libraries and CMake package:
 find_package(tacit) gives tacit::tacit, and with COMPONENTS torch, which needs libtorch-dev, tacit::torch.")
# What find_package(tacit) looks for, and what its components need on top.
set(needs libhwy-dev zlib1g-dev)
set(helps cmake g++)
if(TARGET tacit_tcp)
  list(APPEND needs libssl-dev)
endif()
if(TARGET tacit_mpi)
  list(APPEND needs libopenmpi-dev)
endif()
if(TACIT_TORCH)
  list(APPEND helps libtorch-dev)
endif()
if(TARGET tacit_sim)
  list(APPEND helps libsimgrid-dev)
endif()
list(JOIN needs ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
list(JOIN helps ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "tacit (= ${PROJECT_VERSION})")

if(TACIT_PROGRAM)
  list(APPEND CPACK_COMPONENTS_ALL program)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tacit)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Trains, simulates, compares and launches data-parallel runs in
 which replicas keep together by one of many algorithms.")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "openssh-client")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libtacit-dev (= ${PROJECT_VERSION}), dataset-fashion-mnist, openmpi-bin")
endif()
if(TACIT_PROGRAM AND TACIT_TORCH)
  list(APPEND CPACK_COMPONENTS_ALL torch)
  string(PREPEND CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "tacit-torch (= ${PROJECT_VERSION}), ")
  set(CPACK_DEBIAN_TORCH_PACKAGE_NAME tacit-torch)
  set(CPACK_DEBIAN_TORCH_PACKAGE_SECTION science)
  set(CPACK_COMPONENT_TORCH_DESCRIPTION "With this module the program tacit trains models of LibTorch:
 cnn, resnet8, resnet20 and resnet56.")
  set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "tacit (= ${PROJECT_VERSION})")
endif()

# What a package of Debian has in share/doc/NAME.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} RENAME copyright
          COMPONENT ${component})
endforeach()
include(CPack)

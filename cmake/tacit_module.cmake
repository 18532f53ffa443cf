# The modules of the program: docs/architecture.md, "Modules".

# tacit_module(name libraries...) makes tacit-NAME.so from src/cli/modules/NAME.cc, what it uses of tacit::NAME, and
# libraries. It does not link the layers below: they are in the program, and there must be one of each.
function(tacit_module name)
  set(target tacit_${name}_module)
  add_library(${target} MODULE ${PROJECT_SOURCE_DIR}/src/cli/modules/${name}.cc)
  add_dependencies(${target} tacit_${name})
  add_dependencies(tacit_cli ${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE $<TARGET_FILE:tacit_${name}> ${ARGN} tacit_build_id tacit_warnings)
  target_link_options(${target} PRIVATE LINKER:-z,now)  # what the program lacks is missed when the module is loaded
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME tacit-${name}
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  set(component program)
  if(name STREQUAL torch)
    set(component torch)  # a package of its own: tacit_package.cmake
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tacit COMPONENT ${component})
endfunction()

# tacit_host(program): makes a program that modules can be loaded into. It has the layers whole, also what it does not use
# itself, and exports the names of Tacit and no others.
function(tacit_host program)
  set(layers core compress topology runlog transport inproc tcp mpi collectives native_collectives world strategy
             protocols means strategies train cluster)
  foreach(layer IN LISTS layers)
    if(TARGET tacit_${layer})
      get_target_property(type tacit_${layer} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        set_property(TARGET ${program} PROPERTY LINK_LIBRARY_OVERRIDE_tacit_${layer} WHOLE_ARCHIVE)
      endif()
    endif()
  endforeach()
  set(exports ${PROJECT_SOURCE_DIR}/src/cli/modules/exports.txt)
  target_link_options(${program} PRIVATE LINKER:--dynamic-list=${exports})
  set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${exports})
  target_link_libraries(${program} PRIVATE tacit_build_id ${CMAKE_DL_LIBS})
  # From the folder of the program to that of its modules, where they are installed.
  file(RELATIVE_PATH modules ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/tacit)
  target_compile_definitions(${program} PRIVATE TACIT_MODULES="${modules}")
endfunction()

# The header cli/modules/build_id.h.
set(generated ${PROJECT_BINARY_DIR}/generated)
set(how "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS} ${TACIT_SANITIZE}")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/* ${PROJECT_SOURCE_DIR}/include/*)
add_custom_command(OUTPUT ${generated}/cli/modules/build_id.h
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} "-DHOW=${how}"
          -DOUT=${generated}/cli/modules/build_id.h -P ${CMAKE_CURRENT_LIST_DIR}/build_id.cmake
  DEPENDS ${sources} ${CMAKE_CURRENT_LIST_DIR}/build_id.cmake
  COMMENT "Naming this build" VERBATIM)
add_library(tacit_build_id INTERFACE ${generated}/cli/modules/build_id.h)
target_include_directories(tacit_build_id INTERFACE ${generated})

# cmake --install gives find_package(tacit COMPONENTS torch).
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY TACIT_LIBRARIES)
install(TARGETS ${libraries} tacit_all EXPORT tacitTargets ARCHIVE)
install(DIRECTORY include/tacit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN torch EXCLUDE)
if(TACIT_TORCH)
  install(DIRECTORY include/tacit/torch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tacit)
endif()
set(where ${CMAKE_INSTALL_LIBDIR}/cmake/tacit)
install(EXPORT tacitTargets NAMESPACE tacit:: DESTINATION ${where})
configure_package_config_file(cmake/tacitConfig.cmake.in ${PROJECT_BINARY_DIR}/tacitConfig.cmake
                              INSTALL_DESTINATION ${where})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tacitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tacitConfig.cmake ${PROJECT_BINARY_DIR}/tacitConfigVersion.cmake DESTINATION ${where})

# cmake --install gives the program and find_package(tacit COMPONENTS torch). Components are Debian packages:
# tacit_package.cmake.
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY TACIT_LIBRARIES)
install(TARGETS ${libraries} tacit_all EXPORT tacitTargets ARCHIVE COMPONENT development)
install(DIRECTORY include/tacit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development PATTERN torch EXCLUDE)
if(TACIT_TORCH)
  install(DIRECTORY include/tacit/torch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tacit COMPONENT development)
endif()
set(where ${CMAKE_INSTALL_LIBDIR}/cmake/tacit)
install(EXPORT tacitTargets NAMESPACE tacit:: DESTINATION ${where} COMPONENT development)
configure_package_config_file(cmake/tacitConfig.cmake.in ${PROJECT_BINARY_DIR}/tacitConfig.cmake
                              INSTALL_DESTINATION ${where})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tacitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tacitConfig.cmake ${PROJECT_BINARY_DIR}/tacitConfigVersion.cmake DESTINATION ${where}
        COMPONENT development)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tacit)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tacit)
if(PROJECT_IS_TOP_LEVEL)
  include(tacit_package)
endif()

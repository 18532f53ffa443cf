# Decoders of images: libjpeg-turbo and libpng.
find_package(JPEG QUIET)
find_package(PNG QUIET)
if(NOT JPEG_FOUND OR NOT PNG_FOUND)
  message(STATUS "libjpeg or libpng was not found: building without tacit::images, so without the data set images. "
                 "Install libjpeg-dev and libpng-dev, or say -DTACIT_IMAGES=OFF to keep it so.")
  set(TACIT_IMAGES OFF)
  return()
endif()

tacit_library(images
  SOURCES src/images/jpeg.cc src/images/picture.cc src/images/png.cc src/images/read_file.cc
  DEPS core
  LINK JPEG::JPEG PNG::PNG)
set(image_sources src/train/images/bad_files.cc src/train/images/crop.cc src/train/images/image_list.cc
                  src/train/images/image_samples.cc src/train/images/resample.cc src/train/images/with_images.cc)
set(image_layers images)
list(APPEND tacit_components images)
